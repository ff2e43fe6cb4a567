package io.instr.jvmtests.hot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** Walk after walk in a program whose class loaders come and go: clients are killed, the agent is detached and attached, and nothing is left, nothing grows. */
class ManyWalksIT {

    private static final String TARGET = "targets.hot.Churning";
    private static final long DISTANCE_NANOS = Duration.ofSeconds(20).toNanos();
    private static final int LEAST_LOADERS = 10_000;
    /** What may come and go: the JIT's own, and what the JVM keeps of a class that is being unloaded. */
    private static final long MOST_METASPACE_KB = 2_000;
    private static final long MOST_RESIDENT_KB = 24_000;

    private final Path directory = RunDirectories.create();

    /** A few of each, without a look at memory: what is needed once is not there yet. */
    @EachJdk(oldestAndNewest = true)
    @Tag("timed")
    void nothingIsLeft(Jdk jdk) throws Exception {
        walkAgainAndAgain(jdk, 3, 0);
    }

    /** Half an hour. */
    @EachJdk(oldestAndNewest = true)
    @Tag("soak")
    void nothingGrows(Jdk jdk) throws Exception {
        List<long[]> states = walkAgainAndAgain(jdk, Integer.getInteger("instr.soak.walks", 90), DISTANCE_NANOS);
        long[] last = states.get(states.size() - 1);
        assertTrue(last[0] >= LEAST_LOADERS * states.size() / 90, () -> last[0] + " loaders");
        // The first third is for what is needed once.
        long[] begin = states.get(states.size() / 3);
        assertTrue(last[1] - begin[1] <= MOST_METASPACE_KB, () -> "metaspace in kB: " + column(states, 1));
        assertTrue(last[2] - begin[2] <= MOST_RESIDENT_KB, () -> "resident memory in kB: " + column(states, 2));
        System.out.println("JDK " + jdk.feature() + ": " + last[0] + " loaders; metaspace in kB: " + column(states, 1) + "; resident: " + column(states, 2));
    }

    private List<long[]> walkAgainAndAgain(Jdk jdk, int walks, long distance) throws Exception {
        List<long[]> states = new ArrayList<>();
        Program target = Program.target(jdk, TARGET).with("-Xmx64m", "-XX:+UseSerialGC", "-XX:+EnableDynamicAgentLoading");
        try (Dialog program = target.talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            Awaiting.await(() -> state(program), state -> state[0] > 10);
            attach(jdk, program, 0);
            for (int walk = 0; walk < walks; walk++) {
                long begin = System.nanoTime();
                switch (walk % 3) {
                    case 0 -> walk(program);
                    case 1 -> killed(program);
                    default -> {
                        walk(program, "--across-threads");
                        Attachment.detach(jdk, program);
                        attach(jdk, program, walk);
                    }
                }
                states.add(state(program));
                Awaiting.await(System::nanoTime, now -> now - begin >= distance);
            }
            assertNothingIsLeft(program);
            assertEquals(0, state(program)[3], "wrong results of the program");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        return states;
    }

    private void attach(Jdk jdk, Dialog program, int walk) {
        Attachment.attach(jdk, program, Attachment.prepare(directory, "attached-" + walk, AgentConfig.of("[[rule]]\nclass = \"other.**\"\n")));
    }

    private static void walk(Dialog program, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of("walk", String.valueOf(program.pid()), "--seconds", "2", "--period", "500", "--levels", "3", "--json"));
        command.addAll(List.of(options));
        JsonNode found = new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
        assertEquals(0, found.path("hooks").path("now").asInt(-1), found::toString);
        assertNothingIsLeft(program);
    }

    /** Its probes go without it. */
    private static void killed(Dialog program) throws IOException {
        String instr = BuildResult.AGENT.path().resolveSibling("instr").toString();
        Process client = new ProcessBuilder(instr, "walk", String.valueOf(program.pid()), "--seconds", "1", "--period", "60000", "--calls", "100000000")
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start();
        Awaiting.await(() -> claims(program), claims -> claims.contains("walk"));
        client.destroyForcibly();
        Awaiting.await(() -> Tool.instr(List.of("walk", String.valueOf(program.pid()), "--show")).stdout(), shown -> shown.contains("its client has left"));
        assertTrue(!claims(program).contains("walk"), () -> claims(program));
    }

    private static void assertNothingIsLeft(Dialog program) throws IOException {
        assertTrue(!claims(program).contains("walk"), () -> claims(program));
        JsonNode status = new ObjectMapper().readTree(Tool.instr(List.of("status", "--json", String.valueOf(program.pid()))).assertExitCode(0).stdout());
        assertEquals(0, status.path("walks").path("present").asInt(), status::toString);
    }

    private static String claims(Dialog program) {
        return Tool.instr(List.of("claims", String.valueOf(program.pid()))).assertExitCode(0).stdout();
    }

    /** Loaders, metaspace and resident memory in kB, wrong results. */
    private static long[] state(Dialog program) {
        return Arrays.stream(program.ask("state").split(" ")).mapToLong(Long::parseLong).toArray();
    }

    private static List<Long> column(List<long[]> states, int at) {
        return states.stream().map(state -> state[at]).toList();
    }
}
