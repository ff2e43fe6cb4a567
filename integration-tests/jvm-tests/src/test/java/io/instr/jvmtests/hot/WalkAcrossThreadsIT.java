package io.instr.jvmtests.hot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;

/** {@code instr walk --across-threads}: from tasks of pools and from threads to who hands them over, against what the tasks count themselves. */
@Tag("timed")
class WalkAcrossThreadsIT {

    private static final String TARGET = "targets.hot.HandedOver";
    private static final String ROUNDS = TARGET + "$Rounds.";
    private static final String JOB = TARGET + "$Job.run()";
    private static final List<String> HANDING = List.of("often()", "seldom()", "once()");
    /** Where the program's figures of parts begin. */
    private static final int OF_PARTS = 6;
    private static final double TOLERANCE = 0.02;
    private static final double SURER = 1.5;

    @EachJdk
    void tasksOfAPool(Jdk jdk) throws IOException {
        LoadedBytes loaded = jdk.has("jdb") ? LoadedBytes.atFreePort().ofClasses("java.util.concurrent.ThreadPoolExecutor") : null;
        try (Dialog program = start(jdk, "pool", loaded)) {
            Map<String, String> original = loaded == null ? Map.of() : loaded.methods();
            JsonNode found = walked(program, "3");
            for (String caller : HANDING) {
                assertEquals(1.0, callersOf(found, ROUNDS + caller).get("round()").path("calls_share").asDouble(), found::toString);
            }
            assertTrue(callersOf(found, JOB).get(HANDING.get(0)).path("via").asText().startsWith("hand-over: java.util.concurrent.AbstractExecutorService.submit("), found::toString);
            assertTrue(found.path("end").asText().endsWith("limit of 3 levels"), found::toString);
            assertEquals(original, loaded == null ? Map.of() : loaded.methods(), "the JDK's bodies are its own again");
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void tasksOfFutures(Jdk jdk) throws IOException {
        assertWalk(jdk, "future");
    }

    @EachJdk(oldestAndNewest = true)
    void stagesOfFutures(Jdk jdk) throws IOException {
        assertWalk(jdk, "stage");
    }

    /** They are short: starting the timer of a thread is no sample. */
    @EachJdk(oldestAndNewest = true)
    void threads(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "thread", null)) {
            List<String> command = List.of("hot", String.valueOf(program.pid()), "--seconds", "3", "--share", "1", "--json");
            JsonNode hot = new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
            assertTrue(hot.path("hot").path(0).path("method").asText().startsWith(TARGET + "$Burning.burn"), hot::toString);
            for (JsonNode of : hot.path("hot")) {
                assertTrue(!of.path("method").asText().contains("timer_settime") || of.path("share").asDouble() < 0.2, hot::toString);
            }
            walked(program, "2");
            quit(program);
        }
    }

    @EachJdk(from = 21)
    void virtualThreads(Jdk jdk) throws IOException {
        assertWalk(jdk, "virtual");
    }

    /** Half of each task is forked, and may run on another thread. */
    @EachJdk(oldestAndNewest = true)
    void tasksThatForkOthers(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "fork", null)) {
            String compute = TARGET + "$Parts.compute()";
            long[] before = counted(program);
            JsonNode found = walk(program, compute, "1");
            Map<String, JsonNode> callers = callersOf(found, compute);
            assertEquals(HANDING.size(), callers.size(), found::toString);
            long[] after = counted(program);
            double[] parts = IntStream.range(0, HANDING.size()).mapToDouble(of -> after[OF_PARTS + of] - before[OF_PARTS + of]).toArray();
            for (int of = 0; of < HANDING.size(); of++) {
                assertShare(parts[of] / Arrays.stream(parts).sum(), callers.get(HANDING.get(of)), found);
            }
            quit(program);
        }
    }

    /** It is said how to go on, and nothing of the JDK is changed. */
    @EachJdk(oldestAndNewest = true)
    void withoutTheOptionTasksAreTheRoot(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "pool", null)) {
            List<String> command = List.of("walk", String.valueOf(program.pid()), "--method", TARGET + "$Burning.burn", "--seconds", "2", "--period", "1000", "--json");
            JsonNode found = new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
            assertTrue(found.path("end").asText().endsWith("root: tasks of pools begin there (`--across-threads` goes on to who hands them over)"), found::toString);
            assertTrue(!found.path("levels").toString().contains("java.util.concurrent"), found::toString);
            quit(program);
        }
    }

    private static void assertWalk(Jdk jdk, String kind) throws IOException {
        try (Dialog program = start(jdk, kind, null)) {
            walked(program, "2");
            quit(program);
        }
    }

    /** Walks up from the hot method, and compares what is known of the tasks with what these have counted. */
    private static JsonNode walked(Dialog program, String levels) throws IOException {
        long[] before = counted(program);
        JsonNode found = walk(program, TARGET + "$Burning.burn", levels);
        long[] after = counted(program);
        double[] truth = new double[after.length];
        Arrays.setAll(truth, at -> after[at] - before[at]);
        Map<String, JsonNode> callers = callersOf(found, JOB);
        assertEquals(HANDING.size(), callers.size(), found::toString);
        for (int of = 0; of < HANDING.size(); of++) {
            JsonNode caller = callers.get(HANDING.get(of));
            assertShare(truth[2 * of] / (truth[0] + truth[2] + truth[4]), caller, found);
            // Of ten tasks one has half of the time, so chance has more to say.
            assertEquals(truth[2 * of + 1] / (truth[1] + truth[3] + truth[5]), caller.path("time_share").asDouble(), 0.05, found::toString);
        }
        return found;
    }

    private static void assertShare(double truth, JsonNode caller, JsonNode found) {
        assertEquals(truth, caller.path("calls_share").asDouble(-1), TOLERANCE + SURER * caller.path("calls_margin").asDouble(), () -> caller + " in " + found);
    }

    private static JsonNode walk(Dialog program, String method, String levels) throws IOException {
        List<String> command = new ArrayList<>(List.of("walk", String.valueOf(program.pid()), "--method", method, "--across-threads", "--levels", levels, "--seconds", "1", "--period", "2000", "--through", TARGET, "--json"));
        JsonNode found = new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
        assertEquals(0, found.path("hooks").path("now").asInt(-1), found::toString);
        TwoHotMethods.assertNoProbeOfWalks(String.valueOf(program.pid()));
        return found;
    }

    /** The callers of a method, by the names of methods of the class that hands tasks over. */
    private static Map<String, JsonNode> callersOf(JsonNode found, String callee) {
        Map<String, JsonNode> callers = new HashMap<>();
        for (JsonNode level : found.path("levels")) {
            if (level.path("of").asText().equals(callee)) {
                level.path("callers").forEach(caller -> callers.put(caller.path("method").asText().replace(ROUNDS, ""), caller));
            }
        }
        assertTrue(!callers.isEmpty(), () -> callee + ": " + found);
        return callers;
    }

    private static long[] counted(Dialog program) {
        return Arrays.stream(program.ask("counted").split(" ")).mapToLong(Long::parseLong).toArray();
    }

    private static Dialog start(Jdk jdk, String kind, LoadedBytes loaded) {
        Program target = Program.target(jdk, TARGET, kind);
        return (loaded == null ? target : target.with(loaded.option())).talkWithAgent(AgentConfig.of(""), RunDirectories.create());
    }

    private static void quit(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }
}
