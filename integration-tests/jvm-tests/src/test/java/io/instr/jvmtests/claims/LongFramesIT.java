package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;

/**
 * Twenty classes get probes and lose them while a thread is in a method of each: a call that began in old code ends in old code, a new call runs the
 * new code, and no event is half of a call.
 */
class LongFramesIT {

    private static final int CLASSES = 20;

    private final Path directory = RunDirectories.create();
    /** Between the beginning and the end of a call that began with a probe: the least and the most time. */
    private long least = Long.MAX_VALUE;
    private long most;
    /** From the moment when all threads were in {@code run} until they were released. */
    private long lastHeld;

    @EachJdk(from = 17, oldestAndNewest = true)
    void aCallIsRecordedAsAWholeOrNotAtAll(Jdk jdk) throws IOException {
        recordedAsAWhole(jdk, "");
    }

    /** Probes that ask for their level, which a removal sets to none before the class is touched. */
    @EachJdk(from = 17, oldestAndNewest = true)
    void soIsACallWithALiveProbe(Jdk jdk) throws IOException {
        recordedAsAWhole(jdk, "[control]\nlive = true\n");
    }

    private void recordedAsAWhole(Jdk jdk, String control) throws IOException {
        run(jdk, "time", control);
        List<Trace.Call> calls = heldCalls();
        List<Trace.Call> runs = calls.stream().filter(call -> call.method().equals("run")).toList();
        // Those that began with a probe: one of each class in the second and one in the last round.
        assertEquals(2 * CLASSES, runs.size(), () -> "calls of run: " + runs);
        assertEquals(CLASSES, runs.stream().map(Trace.Call::className).distinct().count());
        long secondRound = runs.stream().mapToLong(Trace.Call::end).min().orElseThrow();
        for (Trace.Call run : runs) {
            assertTrue(run.duration() >= least && run.duration() <= most, () -> run + " is not between " + least + " and " + most + " ns");
            long inside = calls.stream()
                    .filter(call -> call.threadId() == run.threadId() && call.method().equals("step"))
                    .filter(call -> call.start() >= run.start() && call.end() <= run.end())
                    .count();
            // Two steps before the change; after it two more if the probes were inserted again.
            assertEquals(run.start() < secondRound ? 2 : 4, inside, () -> "steps in " + run);
        }
        assertEquals((2 + 2 + 4) * CLASSES, calls.size() - runs.size(), "steps");
        oneCallForAll();
        calls.stream().collect(Collectors.groupingBy(Trace.Call::threadId)).forEach((thread, own) -> assertNested(own));
    }

    /** What belongs together is changed by one call of the JVM. */
    private void oneCallForAll() {
        RecordedEvent first = trace().events("instr.Retransform").stream()
                .filter(event -> event.getString("reason").equals("reload"))
                .findFirst()
                .orElseThrow();
        assertEquals(CLASSES, first.getLong("classes"));
    }

    @EachJdk(from = 17, oldestAndNewest = true)
    void levelWatchRecordsNoCallThatBeganBeforeItsProbe(Jdk jdk) throws IOException {
        run(jdk, "watch", "");
        List<Trace.Call> runs = heldCalls().stream().filter(call -> call.method().equals("run")).toList();
        assertEquals(2 * CLASSES, runs.size(), () -> "calls of run: " + runs);
        long tick = trace().longestTick();
        for (Trace.Call run : runs) {
            assertTrue(run.duration() >= least - tick && run.duration() <= most + tick, () -> run + " is not between " + least + " and " + most);
        }
    }

    /** Round by round: probes are inserted, removed, inserted and removed, removed and inserted again while all threads are in {@code run}. */
    private void run(Jdk jdk, String level, String control) throws IOException {
        String on = control + "[[rule]]\nclass = \"held.**\"\nlevel = \"" + level + "\"\n";
        String off = control + "[[rule]]\nclass = \"other.**\"\n";
        write(off);
        Path classes = held();
        Program target = Program.of(jdk, List.of("-Xverify:all", "-cp", BuildResult.TARGETS.path() + ":" + classes),
                List.of("targets.LongFrames", String.valueOf(CLASSES)));
        try (Dialog program = target.talk(List.of(Program.agentOption("instr.toml")), directory)) {
            assertEquals("ready", program.next());
            round(program, on);
            timed(() -> round(program, off));
            round(program, on, off);
            write(on);
            reload(program);
            timed(() -> round(program, off, on));
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertEquals("", run.stderr());
        }
    }

    /** All threads call {@code run}, the rules are replaced once or twice, all return. */
    private void round(Dialog program, String... rules) throws IOException {
        assertEquals("held", program.ask("hold"));
        long held = System.nanoTime();
        for (String each : rules) {
            write(each);
            assertTrue(reload(program).contains("\"classes_changed\":" + CLASSES + ","));
        }
        lastHeld = System.nanoTime() - held;
        assertEquals("released", program.ask("release"));
    }

    private interface Round {
        void run() throws IOException;
    }

    private void timed(Round round) throws IOException {
        long start = System.nanoTime();
        round.run();
        most = Math.max(most, System.nanoTime() - start);
        least = Math.min(least, lastHeld);
    }

    private static void assertNested(List<Trace.Call> calls) {
        for (Trace.Call one : calls) {
            for (Trace.Call other : calls) {
                boolean overlaps = one.start() < other.start() && other.start() < one.end() && one.end() < other.end();
                assertTrue(!overlaps, () -> one + " and " + other + " overlap");
            }
        }
    }

    private List<Trace.Call> heldCalls() {
        return trace().calls().stream().filter(call -> call.className().startsWith("held.")).toList();
    }

    private Trace trace() {
        return Finished.in(directory).trace();
    }

    private void write(String rules) throws IOException {
        AgentConfig.of("[governor]\nenabled = false\n" + rules).writeTo(directory);
    }

    private static String reload(Dialog program) {
        return ControlSocket.ask(program, "{\"ask\":\"reload\"}").trim();
    }

    private static Path held() throws IOException {
        Path sources = RunDirectories.create();
        Path classes = RunDirectories.create();
        List<String> arguments = new ArrayList<>(List.of("--release", "11", "-d", classes.toString(), "-cp", BuildResult.TARGETS.path().toString()));
        for (int i = 0; i < CLASSES; i++) {
            String source = """
                    package held;
                    public final class Held%d implements Runnable {
                        private long sum;
                        public void run() {
                            step(1);
                            step(2);
                            targets.LongFrames.hold();
                            step(3);
                            step(4);
                        }
                        private void step(int by) {
                            sum += by;
                        }
                    }
                    """.formatted(i);
            arguments.add(Files.writeString(sources.resolve("Held" + i + ".java"), source).toString());
        }
        Compilation.javac(arguments);
        return classes;
    }
}
