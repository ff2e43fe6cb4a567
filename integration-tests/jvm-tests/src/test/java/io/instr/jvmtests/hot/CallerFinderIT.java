package io.instr.jvmtests.hot;

import static io.instr.jvmtests.jvm.Awaiting.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;

/** {@code instr callers --source finder}: who calls a method, by a hook, against what the callers count themselves. */
@Tag("timed")
class CallerFinderIT {

    private static final String TARGET = "targets.hot.CountedCallers";
    private static final String HELPER = TARGET + "$Helper";
    private static final String WORKER = TARGET + "$Worker.";
    private static final String OF_HELPER = "(" + HELPER + ", ";
    /** In the order of what the program prints. */
    private static final List<String> CALLERS = List.of("directly" + OF_HELPER + "int)", "statically(int)", "byInterface(" + TARGET + "$Task, int)",
            "byReflection" + OF_HELPER + "java.lang.reflect.Method, int)", "lambda$byLambda$0" + OF_HELPER + "java.lang.Integer)",
            "byRecursion" + OF_HELPER + "int)", "byLongRecursion" + OF_HELPER + "int)", "throwing" + OF_HELPER + "int)");
    private static final int REFLECTION = 3;
    private static final double TOLERANCE = 0.01;
    private static final double SURER = 1.5;
    private static final int LEAST_WINDOWS = 100;

    /** Static, virtual, interface, reflective and lambda calls; recursion; calls that end by an exception. */
    @EachJdk
    void callsAndTimeAreThoseOfTheProgram(Jdk jdk) throws IOException {
        assertShares(Program.target(jdk, TARGET), "", "--hits", "20000");
    }

    @EachJdk(oldestAndNewest = true)
    void inTheInterpreter(Jdk jdk) throws IOException {
        assertShares(Program.target(jdk, TARGET).with("-Xint"), "", "--hits", "6000");
    }

    /** The method keeps its probe, and the probe goes on. */
    @EachJdk(oldestAndNewest = true)
    void besideAProbe(Jdk jdk) throws IOException {
        assertShares(Program.target(jdk, TARGET), "[control]\nlive = true\n[[rule]]\nclass = \"" + HELPER + "\"\nmethod = \"hot\"\nlevel = \"time\"\n", "--hits", "20000");
    }

    private static void assertShares(Program target, String settings, String... options) throws IOException {
        try (Dialog program = start(target, settings)) {
            await(() -> counted(program), counted -> counted[0] > 20_000);
            long[] before = counted(program);
            JsonNode found = callers(program, HELPER + ".hot", "finder", options);
            long[] after = counted(program);
            assertEquals("finder", found.path("source").asText());
            assertTrue(found.path("hook").path("calls").asInt() <= Integer.parseInt(options[1]) && found.path("hook").path("calls").asInt() > 1_000, found::toString);
            assertTrue(found.path("hook").path("windows").asInt() >= LEAST_WINDOWS, found::toString);
            assertTrue(found.path("hook").path("nested").asInt() > 0, found::toString);
            double[] truth = new double[after.length];
            Arrays.setAll(truth, at -> after[at] - before[at]);
            double calls = sum(truth, 0);
            double nanos = sum(truth, 1);
            for (int caller = 0; caller < CALLERS.size(); caller++) {
                JsonNode of = named(found, WORKER + CALLERS.get(caller));
                assertShare("calls", truth[2 * caller] / calls, of.path("calls_share"), of.path("calls_margin"), of);
                assertShare("time", truth[2 * caller + 1] / nanos, of.path("time_share"), of.path("margin"), of);
                assertTrue(of.path("calls_margin").asDouble() > 0 && of.path("margin").asDouble() > 0, of::toString);
                assertEquals(caller == REFLECTION, of.hasNonNull("via"), of::toString);
            }
            assertEquals(CALLERS.size(), found.path("callers").size(), found::toString);
            assertNothingIsLeft(program);
            quit(program);
        }
    }

    private static double sum(double[] counted, int first) {
        double sum = 0;
        for (int at = first; at < counted.length; at += 2) {
            sum += counted[at];
        }
        return sum;
    }

    /** One point, and what chance may add: sixteen figures are compared each time, so a margin of one in twenty is too little. */
    private static void assertShare(String what, double truth, JsonNode share, JsonNode margin, JsonNode caller) {
        double tolerance = TOLERANCE + SURER * margin.asDouble();
        assertTrue(Math.abs(share.asDouble() - truth) <= tolerance, () -> "%s: truth %.3f, found %s: %s".formatted(what, truth, share, caller));
    }

    /** A method that only one other calls needs few samples, if they are unbiased. */
    @EachJdk(oldestAndNewest = true)
    void theSourceIsChosenByWhatSamplesSay(Jdk jdk) throws IOException {
        Program target = Program.target(jdk, TARGET).with("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-XX:CompileCommand=quiet",
                "-XX:CompileCommand=dontinline," + HELPER + "::loop");
        try (Dialog program = start(target, "")) {
            await(() -> counted(program), counted -> counted[0] > 20_000);
            JsonNode enough = callers(program, TARGET + "$Worker.caller", "auto", "--by", "wall");
            assertTrue(enough.path("source").asText().equals("finder") && enough.path("why").asText().matches(".*(no sample|margin|no caller).*"), enough::toString);
            assertTrue(named(enough, WORKER + "work(" + HELPER + ", java.lang.reflect.Method)").path("calls_share").asDouble() > 0.999, enough::toString);
            JsonNode sampled = callers(program, TARGET + "$Worker.work", "auto");
            assertTrue(sampled.path("source").asText().equals("samples") && !sampled.path("why").asText().isEmpty(), sampled::toString);
            JsonNode few = callers(program, HELPER + ".hot", "auto", "--seconds", "3");
            assertTrue(few.path("source").asText().equals("finder") && few.path("why").asText().contains("margin"), few::toString);
            assertTrue(few.path("hook").path("calls").asInt() > 1_000 && few.path("samples").asInt() > 0, few::toString);
            assertNothingIsLeft(program);
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void whatTakesNoHookIsSaidWithTheReason(Jdk jdk) throws IOException {
        try (Dialog program = start(Program.target(jdk, TARGET), "")) {
            await(() -> counted(program), counted -> counted[0] > 1_000);
            String pid = String.valueOf(program.pid());
            assertRefused(pid, HELPER + ".neverWritten", "native");
            assertRefused(pid, TARGET + "$Task.hot", "abstract");
            assertRefused(pid, "java.lang.Thread.isInterrupted()", "takes no hook");
            JsonNode sampled = callers(program, HELPER + ".neverWritten", "auto", "--seconds", "1");
            assertTrue(sampled.path("source").asText().equals("samples") && sampled.path("notices").toString().contains("takes no hook"), sampled::toString);
            JsonNode never = callers(program, HELPER + ".nobodyCallsIt", "finder", "--seconds", "1");
            assertTrue(never.path("callers").isEmpty() && never.path("notices").toString().contains("no call of it"), never::toString);
            assertNothingIsLeft(program);
            quit(program);
        }
    }

    private static void assertRefused(String pid, String method, String reason) {
        Finished refused = Tool.instr(List.of("callers", pid, method, "--source", "finder", "--seconds", "1"));
        assertTrue(refused.exitCode() == 1 && refused.stderr().contains(reason), refused::toString);
    }

    /** Whoever calls a class that is passed through is the caller. */
    @EachJdk(oldestAndNewest = true)
    void classesArePassedThrough(Jdk jdk) throws IOException {
        try (Dialog program = start(Program.target(jdk, TARGET), "")) {
            await(() -> counted(program), counted -> counted[0] > 1_000);
            JsonNode found = callers(program, HELPER + ".loop(int)", "finder", "--through", HELPER, "--seconds", "3");
            assertTrue(named(found, WORKER + CALLERS.get(0)).path("via").asText().startsWith(HELPER + ".hot"), found::toString);
            assertEquals(CALLERS.size(), found.path("callers").size(), found::toString);
            assertNothingIsLeft(program);
            quit(program);
        }
    }

    /** A client that is gone takes its hook along, so does the end of its claim; the bytecode is what it was. */
    @EachJdk(oldestAndNewest = true, having = "jdb")
    void theHookEndsWithItsClientOrItsClaim(Jdk jdk) throws IOException {
        LoadedBytes loaded = LoadedBytes.atFreePort();
        try (Dialog program = start(Program.target(jdk, TARGET).with(loaded.option()), "")) {
            await(() -> counted(program), counted -> counted[0] > 1_000);
            Map<String, String> before = loaded.methods();
            String pid = String.valueOf(program.pid());
            Process client = client(pid);
            try {
                await(() -> claims(pid), claims -> claims.contains("caller finder"));
                await(loaded::methods, methods -> !methods.equals(before));
            } finally {
                client.destroyForcibly();
            }
            await(() -> claims(pid), claims -> !claims.contains("caller finder"));
            await(loaded::methods, before::equals);
            assertNothingIsLeft(program);
            Process second = client(pid);
            await(() -> claims(pid), claims -> claims.contains("caller finder"));
            JsonNode listed = new ObjectMapper().readTree(Tool.instr(List.of("claims", pid, "--json")).assertExitCode(0).stdout());
            String number = "";
            for (JsonNode claim : listed.path("claims")) {
                number = claim.path("role").asText().equals("caller finder") ? claim.path("id").asText() : number;
            }
            Tool.instr(List.of("remove", pid, number)).assertExitCode(0);
            assertEquals(before, loaded.methods());
            assertNothingIsLeft(program);
            // It says what it has found, and why that is not more.
            await(second::isAlive, isAlive -> !isAlive);
            assertEquals(0, second.exitValue());
            Process third = client(pid);
            await(() -> claims(pid), claims -> claims.contains("caller finder"));
            Tool.instr(List.of("pause", pid)).assertExitCode(0);
            await(third::isAlive, isAlive -> !isAlive);
            assertNothingIsLeft(program);
            Tool.instr(List.of("resume", pid)).assertExitCode(0);
            Process fourth = client(pid);
            await(() -> claims(pid), claims -> claims.contains("caller finder"));
            Tool.instr(List.of("detach", pid)).assertExitCode(0);
            await(fourth::isAlive, isAlive -> !isAlive);
            assertEquals(before, loaded.methods());
            quit(program);
        }
    }

    private static Process client(String pid) throws IOException {
        String instr = BuildResult.AGENT.path().resolveSibling("instr").toString();
        return new ProcessBuilder(instr, "callers", pid, HELPER + ".hot", "--source", "finder", "--seconds", "200", "--hits", "100000")
                .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    private static String claims(String pid) {
        return Tool.instr(List.of("claims", pid)).assertExitCode(0).stdout();
    }

    private static void assertNothingIsLeft(Dialog program) {
        String pid = String.valueOf(program.pid());
        assertTrue(!claims(pid).contains("walk"), () -> claims(pid));
        String carried = Tool.instr(List.of("explain", "--live", pid, HELPER)).stdout();
        assertTrue(!carried.contains("caller finder"), carried);
    }

    private static Dialog start(Program target, String settings) {
        String rules = "[[rule]]\nclass = \"other.**\"\n" + settings;
        return target.talkWithAgent(AgentConfig.of(rules), RunDirectories.create());
    }

    private static long[] counted(Dialog program) {
        program.send("count");
        return Arrays.stream(program.next().split(" ")).mapToLong(Long::parseLong).toArray();
    }

    private static void quit(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }

    private static JsonNode callers(Dialog program, String method, String source, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of("callers", String.valueOf(program.pid()), method, "--json", "--source", source));
        command.addAll(Arrays.asList(options));
        if (!command.contains("--seconds")) {
            command.addAll(List.of("--seconds", "6"));
        }
        return new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
    }

    private static JsonNode named(JsonNode found, String method) {
        for (JsonNode caller : found.path("callers")) {
            if (caller.path("method").asText().equals(method)) {
                return caller;
            }
        }
        throw new AssertionError(method + " is no caller: " + found);
    }
}
