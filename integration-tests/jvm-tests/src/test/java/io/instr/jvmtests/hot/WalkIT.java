package io.instr.jvmtests.hot;

import static io.instr.jvmtests.jvm.Awaiting.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;

/** {@code instr walk}: who calls a hot method, level by level, against programs that count that themselves. */
@Tag("timed")
class WalkIT {

    /** {@code -Dinstr.walk.graphs=20}: so many graphs on each JDK; {@code -Dinstr.walk.first=17} begins with the graph of this number. */
    private static final int GRAPHS = Integer.getInteger("instr.walk.graphs", 1);
    private static final Long FIRST = Long.getLong("instr.walk.first");
    private static final double TOLERANCE = 0.02;
    private static final double SURER = 1.5;
    /** Of so many calls, shares are known well, unless threads have to wait for a processor for long. */
    private static final int MANY = 5_000;
    private static final double MOST_MARGIN = 0.2;
    private static final String METHOD = CallersGraph.CLASS + ".%s(int)";
    private static final int HOOKS = 12;
    /** Samples do not see a small loop that the JIT has inlined and unrolled. */
    private static final String[] SEEN = {"-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-XX:CompileCommand=quiet",
        "-XX:CompileCommand=dontinline," + CallersGraph.CLASS + "::hot"};

    @EachJdk
    void callsAndTimeOfEachLevelAreThoseOfTheProgram(Jdk jdk) {
        List<String> failures = new ArrayList<>();
        LongStream.range(0, GRAPHS).map(at -> at + (FIRST == null ? jdk.feature() : FIRST)).forEach(seed -> {
            CallersGraph graph = new CallersGraph(seed);
            try {
                walk(graph, graph.compiled(jdk, RunDirectories.create()).with(collector(jdk, seed)));
            } catch (IOException | AssertionError failure) {
                failures.add(graph + "\n" + failure.getMessage());
            }
        });
        assertTrue(failures.isEmpty(), () -> failures.size() + " failed:\n" + String.join("\n\n", failures));
    }

    private static String collector(Jdk jdk, long seed) {
        List<String> collectors = jdk.feature() < 17 ? List.of("Serial", "G1") : List.of("Serial", "G1", "Z");
        return "-XX:+Use%sGC".formatted(collectors.get((int) (seed / 3 % collectors.size())));
    }

    @EachJdk(oldestAndNewest = true)
    void inTheInterpreterWithAnotherCollector(Jdk jdk) throws IOException {
        CallersGraph graph = new CallersGraph(7);
        walk(graph, graph.compiled(jdk, RunDirectories.create()).with("-Xint", "-XX:+UseSerialGC"));
    }

    private static void walk(CallersGraph graph, Program compiled) throws IOException {
        try (Dialog program = start(compiled)) {
            // Until the JIT has compiled most of it, or the interpreter is used to it.
            await(() -> truth(program), counted -> counted[0] > 20_000);
            long[] before = truth(program);
            JsonNode found = walk(program, "--method", METHOD.formatted("hot"), "--hooks", String.valueOf(HOOKS), "--across-threads");
            long[] after = truth(program);
            List<String[]> edges = graph.edges();
            for (String callee : edges.stream().map(edge -> edge[0]).distinct().toList()) {
                double calls = 0;
                double nanos = 0;
                for (int edge = 0; edge < edges.size(); edge++) {
                    if (edges.get(edge)[0].equals(callee)) {
                        calls += after[2 * edge] - before[2 * edge];
                        nanos += after[2 * edge + 1] - before[2 * edge + 1];
                    }
                }
                JsonNode level = level(found, callee);
                for (int edge = 0; edge < edges.size(); edge++) {
                    if (edges.get(edge)[0].equals(callee)) {
                        JsonNode caller = caller(level, edges.get(edge)[1]);
                        String what = callee + " by " + edges.get(edge)[1];
                        assertShare(what + ": calls", (after[2 * edge] - before[2 * edge]) / calls, caller, "calls");
                        assertShare(what + ": time", (after[2 * edge + 1] - before[2 * edge + 1]) / nanos, caller, "time");
                    }
                }
                assertTrue(level.path("covered").asDouble() > 0.95, level::toString);
                assertEquals(callee.equals(CallersGraph.TASK) ? "finder" : "measured", level.path("source").asText(), level::toString);
            }
            assertEquals(1, level(found, "hot").path("level").asInt());
            assertEquals(4, level(found, "handle").path("level").asInt());
            assertTrue(found.path("end").asText().matches(graph.isHandedOver() ? ".*(limit of 8 levels|no data: .*)" : ".*the threads begin there.*"), found::toString);
            assertNothingIsLeft(program, found);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** Some points, and what chance may add: of few calls a level has more. */
    private static void assertShare(String what, double truth, JsonNode caller, String figure) {
        JsonNode share = caller.path(figure + "_share");
        double margin = caller.path(figure + "_margin").asDouble();
        assertTrue(margin < (caller.path("calls").asInt() > MANY ? MOST_MARGIN : 1), () -> what + ": " + caller);
        double tolerance = TOLERANCE + SURER * margin;
        assertTrue(share.isNumber() && Math.abs(share.asDouble() - truth) <= tolerance, () -> "%s %.3f, measured %s: %s".formatted(what, truth, share, caller));
    }

    private static void assertNothingIsLeft(Dialog program, JsonNode found) throws IOException {
        assertEquals(0, found.path("hooks").path("now").asInt(), found::toString);
        assertTrue(found.path("hooks").path("most").asInt() <= HOOKS, found::toString);
        String claims = Tool.instr(List.of("claims", String.valueOf(program.pid()))).assertExitCode(0).stdout();
        assertTrue(!claims.contains("walk"), claims);
        List<String> status = List.of("status", "--json", String.valueOf(program.pid()));
        JsonNode totals = new ObjectMapper().readTree(Tool.instr(status).assertExitCode(0).stdout()).path("walks");
        List<Integer> expected = List.of(1, 0, 0, found.path("hooks").path("most").asInt(), found.path("hooks").path("calls").asInt());
        assertEquals(expected, Stream.of("walks", "present", "active", "most", "calls").map(key -> totals.path(key).asInt(-1)).toList(), totals::toString);
        String inventory = Tool.instr(List.of("explain", "--live", String.valueOf(program.pid()), CallersGraph.CLASS)).stdout();
        assertTrue(!inventory.contains("instr walk"), inventory);
    }

    /** A client that is gone takes its walk along. */
    @EachJdk(oldestAndNewest = true)
    void aWalkEndsWithItsClient(Jdk jdk) throws IOException {
        CallersGraph graph = new CallersGraph(1);
        try (Dialog program = start(graph.compiled(jdk, RunDirectories.create()))) {
            String pid = String.valueOf(program.pid());
            String instr = BuildResult.AGENT.path().resolveSibling("instr").toString();
            Process client = new ProcessBuilder(instr, "walk", pid, "--json", "--seconds", "1", "--period", "60000", "--calls", "100000000")
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start();
            await(() -> show(pid), shown -> shown.contains("measuring level 1"));
            Finished second = Tool.instr(List.of("walk", pid));
            assertTrue(second.exitCode() == 1 && second.stderr().contains("another walk is under way"), second::toString);
            client.destroyForcibly();
            await(() -> show(pid), shown -> shown.contains("its client has left"));
            assertTrue(!Tool.instr(List.of("claims", pid)).stdout().contains("walk"));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** The file alone has what the command has printed. */
    @EachJdk(oldestAndNewest = true)
    void theResultIsInTheRecordingAndInItsReports(Jdk jdk) throws IOException {
        CallersGraph graph = new CallersGraph(1);
        Path directory = RunDirectories.create();
        JsonNode found;
        try (Dialog program = start(graph.compiled(jdk, RunDirectories.create()), directory)) {
            await(() -> truth(program), counted -> counted[0] > 20_000);
            found = walk(program, "--method", METHOD.formatted("hot"), "--levels", "2", "--period", "500");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        String file = directory.resolve("trace.jfr").toString();
        JsonNode reported = new ObjectMapper().readTree(Tool.instr(List.of("report", "--json", file)).assertExitCode(0).stdout()).path("walks");
        assertEquals(1, reported.size(), reported::toString);
        assertTrue(found.path("levels").size() >= 2, found::toString);
        assertEquals(edges(found), edges(reported.get(0)));
        assertEquals(found.path("end"), reported.get(0).path("end"));
        JsonNode gauge = reported.get(0).path("gauge");
        assertEquals(0, gauge.path(gauge.size() - 1).path("now").asInt(-1), gauge::toString);
        String report = Tool.instr(List.of("report", file)).assertExitCode(0).stdout();
        assertTrue(report.contains("level 1: callers of " + METHOD.formatted("hot")), report);
        // They are of some seconds, and would be compared with those of all the time.
        assertEquals(List.of(), Trace.read(directory.resolve("trace.jfr")).calls(), "calls that were recorded for the walk alone");
    }

    /** One after the other, without anybody who asks. */
    @EachJdk(oldestAndNewest = true)
    void walksAreMadeByThemselves(Jdk jdk) throws IOException {
        CallersGraph graph = new CallersGraph(1);
        Path directory = RunDirectories.create();
        AgentConfig config = AgentConfig.of("[walk]\nevery = \"10 s\"\nsampling = \"2 s\"\nlevels = 1\n");
        long began = System.nanoTime();
        try (Dialog program = graph.compiled(jdk, RunDirectories.create()).with(SEEN).talkWithAgent(config, directory)) {
            String pid = String.valueOf(program.pid());
            await(() -> Tool.instr(List.of("report", "--json", directory.resolve("trace.jfr").toString())).stdout(), report -> walks(report) >= 2);
            assertTrue(show(pid).contains("level 1: callers of " + METHOD.formatted("hot")), () -> show(pid));
            JsonNode totals = new ObjectMapper().readTree(Tool.instr(List.of("status", "--json", pid)).assertExitCode(0).stdout()).path("walks");
            double cpu = totals.path("cpu_ms").asDouble();
            int walks = totals.path("walks").asInt();
            // Half a percent of the time. The next walk waits for what the last one has used.
            assertTrue(cpu > 0 && cpu * (walks - 1) / walks <= (System.nanoTime() - began) / 1e6 * 0.005, totals::toString);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static int walks(String report) {
        try {
            return new ObjectMapper().readTree(report).path("walks").size();
        } catch (IOException e) {
            return 0;
        }
    }

    private static List<String> edges(JsonNode walk) {
        List<String> edges = new ArrayList<>();
        for (JsonNode level : walk.path("levels")) {
            for (JsonNode caller : level.path("callers")) {
                edges.add("%s %s by %s: %s, %s".formatted(level.path("level"), level.path("of"), caller.path("method"), caller.path("calls"), caller.path("followed")));
            }
        }
        return edges;
    }

    private static String show(String pid) {
        return Tool.instr(List.of("walk", pid, "--show")).stdout();
    }

    @EachJdk(oldestAndNewest = true)
    void mistakesAreNamed(Jdk jdk) throws IOException {
        CallersGraph graph = new CallersGraph(1);
        try (Dialog program = start(graph.compiled(jdk, RunDirectories.create()))) {
            String pid = String.valueOf(program.pid());
            Finished json = Tool.instr(List.of("walk", pid, "--show", "--json"));
            assertTrue(json.exitCode() == 1 && json.stdout().isEmpty(), json::toString);
            Finished none = Tool.instr(List.of("walk", pid, "--show"));
            assertTrue(none.exitCode() == 1 && none.stderr().contains("there was no walk"), none::toString);
            Finished unknown = Tool.instr(List.of("walk", pid, "--method", CallersGraph.CLASS + ".hoot"));
            assertTrue(unknown.exitCode() == 1 && unknown.stderr().contains("did you mean `" + CallersGraph.CLASS + ".hot`"), unknown::toString);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static Dialog start(Program target) {
        return start(target, RunDirectories.create());
    }

    private static Dialog start(Program target, Path directory) {
        return target.with(SEEN).talkWithAgent(AgentConfig.of("[[rule]]\nclass = \"other.**\"\n"), directory);
    }

    private static long[] truth(Dialog program) {
        String numbers = program.ask("truth");
        return Arrays.stream(numbers.substring(1, numbers.length() - 1).split(", ")).mapToLong(Long::parseLong).toArray();
    }

    private static JsonNode walk(Dialog program, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of("walk", String.valueOf(program.pid()), "--json", "--share", "1", "--seconds", "6", "--calls", "200000"));
        command.addAll(Arrays.asList(options));
        return new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
    }

    private static JsonNode level(JsonNode found, String callee) {
        for (JsonNode level : found.path("levels")) {
            if (level.path("of").asText().equals(CallersGraph.named(callee))) {
                return level;
            }
        }
        throw new AssertionError(callee + " is on no level: " + found);
    }

    private static JsonNode caller(JsonNode level, String caller) {
        for (JsonNode of : level.path("callers")) {
            if (of.path("method").asText().equals(CallersGraph.named(caller))) {
                return of;
            }
        }
        throw new AssertionError(caller + " is no caller: " + level);
    }
}
