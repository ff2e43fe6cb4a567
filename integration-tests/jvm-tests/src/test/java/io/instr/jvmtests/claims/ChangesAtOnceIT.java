package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Tag;

/** Several persons change what is instrumented at the same time, while the program calls these methods: no change is lost, and none stays. */
class ChangesAtOnceIT {

    /** Changes that each person makes, however long that takes. */
    private static final int FEWEST = 3;
    private static final Pattern CLAIM = Pattern.compile("\"claim\":(\\d+)");
    private static final String STEP = "targets.Conversation.step";

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true)
    void whatIsLeftIsWhatTheLastChangesSay(Jdk jdk) throws Exception {
        changeAtOnce(jdk, Duration.ofSeconds(5));
    }

    @EachJdk
    @Tag("soak")
    void manyChanges(Jdk jdk) throws Exception {
        changeAtOnce(jdk, Duration.ofSeconds(60));
    }

    private void changeAtOnce(Jdk jdk, Duration length) throws Exception {
        String file = config("").writeTo(directory).getFileName().toString();
        try (Dialog program = Program.target(jdk, "targets.Conversation").with("-Xverify:all").talk(List.of(Program.agentOption(file)), directory)) {
            assertEquals("ready", program.next());
            String original = program.ask("position");
            long end = System.nanoTime() + length.toNanos();
            ExecutorService persons = Executors.newFixedThreadPool(3);
            List<Future<Integer>> changes = new ArrayList<>();
            for (Callable<Integer> person : List.<Callable<Integer>>of(
                    () -> reloads(program, end), () -> claims(program, end), () -> levels(program, end))) {
                changes.add(persons.submit(person));
            }
            persons.shutdown();
            long nextTwin = System.nanoTime();
            while (!persons.isTerminated()) {
                program.ask("work 1000");
                // Five times a second another class of this name is defined and linked; a claim takes at most 1,000 of them.
                if (System.nanoTime() - nextTwin >= 0) {
                    program.ask("twin load");
                    program.ask("twin link");
                    nextTwin += 200_000_000;
                }
            }
            for (Future<Integer> made : changes) {
                assertTrue(made.get() >= FEWEST, "what a person did is as it must be");
            }
            write("");
            assertTrue(ControlSocket.ask(program, "{\"ask\":\"reload\"}").contains("\"rules\":0,"));
            assertEquals("{\"claims\":[]}", ControlSocket.ask(program, "{\"ask\":\"claims\"}").trim());
            assertEquals(original, program.ask("position"), "every body is the program's own again");
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"live\":[]"), status);
            assertEquals(0, (long) ControlSocket.number(status.substring(status.indexOf("\"retransforms\"")), "rejected"));
            write(rule("step"));
            assertTrue(ControlSocket.ask(program, "{\"ask\":\"reload\"}").contains("\"classes_changed\":1,"));
            long before = ControlSocket.calls(ControlSocket.status(program));
            program.ask("work 500");
            ControlSocket.awaitCalls(program, before + 500);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertOneBatchAtATime();
    }

    /** But for classes that are being linked, which the threads retransform that link them. */
    private void assertOneBatchAtATime() throws IOException {
        RecordedEvent last = null;
        int batches = 0;
        try (RecordingFile recording = new RecordingFile(directory.resolve("trace.jfr"))) {
            while (recording.hasMoreEvents()) {
                RecordedEvent event = recording.readEvent();
                if (!event.getEventType().getName().equals("instr.Retransform") || event.getString("reason").equals("linked")) {
                    continue;
                }
                RecordedEvent before = last;
                assertTrue(before == null || !event.getStartTime().isBefore(before.getEndTime()), () -> before + " overlaps " + event);
                last = event;
                batches++;
            }
        }
        assertTrue(batches > 2 * FEWEST, batches + " batches");
    }

    private int reloads(Dialog program, long end) throws IOException {
        int made = 0;
        while (System.nanoTime() < end || made < FEWEST) {
            write(rule(made % 2 == 0 ? "step" : "position"));
            String answer = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            // Another person's change may be carried out just now.
            assertTrue(answer.contains("\"generation\":") || answer.contains("busy"), answer);
            made++;
        }
        return made;
    }

    private static int claims(Dialog program, long end) {
        int made = 0;
        while (System.nanoTime() < end || made < FEWEST) {
            String methods = made % 2 == 0 ? STEP : "targets.Conversation.p*";
            Matcher claim = CLAIM.matcher(ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"" + methods + "\",\"seconds\":600}"));
            if (claim.find()) {
                String removed = ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + claim.group(1) + "}");
                assertTrue(removed.contains("\"claim\":" + claim.group(1)), removed);
                made++;
            }
        }
        return made;
    }

    private static int levels(Dialog program, long end) {
        int made = 0;
        while (System.nanoTime() < end || made < FEWEST) {
            ControlSocket.level(program, STEP, made % 2 == 0 ? "full" : "auto");
            made++;
        }
        ControlSocket.level(program, "**", "auto");
        return made;
    }

    private static AgentConfig config(String rules) {
        return AgentConfig.of(rules).ungoverned();
    }

    private static String rule(String method) {
        return "[[rule]]\nclass = \"targets.Conversation\"\nmethod = \"" + method + "\"\nlevel = \"time\"\n";
    }

    /** All at once: the agent never reads half of it. */
    private void write(String rules) throws IOException {
        Path whole = Files.writeString(directory.resolve("next.toml"), config(rules).text());
        Files.move(whole, directory.resolve("instr.toml"), StandardCopyOption.ATOMIC_MOVE);
    }
}
