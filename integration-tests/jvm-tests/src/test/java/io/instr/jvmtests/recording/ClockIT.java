package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.JvmProcess;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace.Call;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Tag;

/** Which clock do the probes read, and does it say what the program's own clock says? */
@Tag("timed")
class ClockIT {

    private static final String CLOCK_SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    private static final String COUNTER = "the processor's counter";
    private static final String SYSTEM = "System.nanoTime()";
    /** Of the length of a tick: it is measured over some milliseconds. */
    private static final double ERROR = 20e-6;
    /** Of a duration that only goes through ticks: they are less than a nanosecond. */
    private static final double ROUNDED = 1e-7;

    @EachJdk
    void theProcessorsCounterIsReadWhereItCanBe(Jdk jdk) throws IOException {
        boolean hasWay = jdk.feature() == 17 || jdk.feature() >= 21;
        assertEquals(hasWay && isTrusted() ? COUNTER : SYSTEM, clockOf(timed(jdk, "")));
    }

    @EachJdk
    void theSystemsClockIsReadOnRequestAndWhereItIsFaster(Jdk jdk) {
        assertEquals(SYSTEM, clockOf(timed(jdk, "clock = \"system\"")));
        assertEquals(SYSTEM, clockOf(timed(jdk, "", "-Xint")));
        assertEquals(SYSTEM, clockOf(timed(jdk, "", "-XX:TieredStopAtLevel=1")));
    }

    @EachJdk
    void itAgreesWithTheProgramsOwnClock(Jdk jdk) {
        Finished run = timed(jdk, "");
        List<Call> calls = run.trace().callsOf("targets.Durations.busy");
        List<String> lines = run.stdout().lines().toList();
        assertEquals(lines.size(), calls.size());
        for (int i = 0; i < calls.size(); i++) {
            assertBetween(lines.get(i), calls.get(i), ERROR);
        }
        // Moments, too: ten calls one after the other take as long as from the first start to the last end.
        long span = calls.get(calls.size() - 1).end() - calls.get(0).start();
        double sum = calls.stream().mapToLong(Call::duration).sum();
        assertTrue(sum <= span, sum + " in " + span);
    }

    /** The runtime is made for the first session; what a later one asks for counts all the same, and its figures are right. */
    @EachJdk(having = "jcmd")
    void aLaterSessionHasTheClockThatItAsksFor(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path counting = Attachment.prepare(directory, "first", config(""));
        Path asking = Attachment.prepare(directory, "second", config("clock = \"system\""));
        Path again = Attachment.prepare(directory, "third", config(""));
        String measured;
        try (Dialog program = Program.target(jdk, "targets.Conversation").with("-XX:+EnableDynamicAgentLoading").talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            stay(jdk, program, counting);
            measured = stay(jdk, program, asking);
            stay(jdk, program, again);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        String best = clockOf(Attachment.leftBehind(directory, "first"));
        Finished second = Attachment.leftBehind(directory, "second");
        assertEquals(SYSTEM, clockOf(second));
        assertBetween(measured, second.trace().callsOf("targets.Durations.busy").get(0), ROUNDED);
        assertEquals(best, clockOf(Attachment.leftBehind(directory, "third")));
    }

    /** The kernel abandons the counter while the program runs: so do the probes, and the recording says so. */
    @EachJdk(from = 17)
    void theCounterIsAbandonedTogetherWithTheKernel(Jdk jdk) throws Exception {
        assumeTrue(isTrusted(), "the kernel of this machine does not read the counter");
        Path directory = RunDirectories.create();
        Path source = Files.writeString(directory.resolve("clocksource"), "tsc\n");
        List<String> view = List.of("unshare", "--mount", "sh", "-c", "mount --bind \"$0\" " + CLOCK_SOURCE + " && exec \"$@\"", source.toString());
        assumeTrue(isRoot(), "only root may show the program another clock source");
        String configuration = config("").writeTo(directory).getFileName().toString();
        Program conversation = Program.target(jdk, "targets.Conversation").startedBy(view);
        Finished run;
        String measured;
        try (Dialog program = conversation.talk(List.of(Program.agentOption(configuration)), directory)) {
            assertEquals("ready", program.next());
            program.ask("busy 1000000");
            Files.writeString(source, "hpet\n");
            Path log = directory.resolve("stderr");
            long deadline = System.nanoTime() + JvmProcess.LIMIT.toNanos();
            while (!Files.readString(log).contains("counter is no longer read")) {
                assertTrue(System.nanoTime() < deadline, "the agent does not notice: " + Files.readString(log));
                program.ask("busy 1000000");
            }
            measured = program.ask("busy 50000000");
            program.send("quit");
            run = program.finish();
        }
        List<Call> calls = run.trace().callsOf("targets.Durations.busy");
        assertBetween(measured, calls.get(calls.size() - 1), ERROR);
        assertTrue(run.trace().events("instr.Note").stream().anyMatch(note -> note.getString("kind").equals("clock")));
    }

    private static boolean isRoot() {
        return System.getProperty("user.name").equals("root");
    }

    private static String stay(Jdk jdk, Dialog program, Path configuration) {
        Attachment.attach(jdk, program, configuration);
        String measured = program.ask("busy 50000000");
        Attachment.detach(jdk, program);
        return measured;
    }

    /** The agent's figure is between what the program measured inside the call and around it, but for such an error. */
    private static void assertBetween(String measured, Call call, double error) {
        String[] words = measured.split(" ");
        double inside = Long.parseLong(words[1]);
        double around = Long.parseLong(words[2]);
        double duration = call.duration();
        assertTrue(inside * (1 - error) <= duration && duration <= around * (1 + error), inside + " <= " + duration + " <= " + around);
    }

    private static AgentConfig config(String traceLine) {
        return AgentConfig.of(traceLine, "", """
                [[rule]]
                class = "targets.Durations"
                template = "timed"
                level = "time"
                """).ungoverned();
    }

    private static Finished timed(Jdk jdk, String traceLine, String... options) {
        return Program.target(jdk, "targets.Durations", "50").with(options).withAgent(config(traceLine));
    }

    private static String clockOf(Finished run) {
        Trace trace = run.trace();
        List<String> clocks = trace.events("instr.Configuration").stream()
                .filter(setting -> setting.getString("key").equals("probe clock"))
                .map((RecordedEvent setting) -> setting.getString("value"))
                .toList();
        assertEquals(1, clocks.size());
        return clocks.get(0);
    }

    /** What the kernel says of the counter. */
    private static boolean isTrusted() throws IOException {
        Path source = Path.of(CLOCK_SOURCE);
        if (!Files.isReadable(source) || !Files.readString(source).trim().equals("tsc")) return false;
        List<String> flags = Files.readAllLines(Path.of("/proc/cpuinfo")).stream()
                .filter(line -> line.startsWith("flags"))
                .findFirst()
                .map(line -> List.of(line.split("\\s+")))
                .orElse(List.of());
        return flags.containsAll(List.of("rdtscp", "nonstop_tsc"));
    }
}
