package io.instr.jvmtests.hot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
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
import org.junit.jupiter.api.Tag;

/** {@code instr callers}: who calls a method, by samples, against what the callers measure themselves. */
@Tag("timed")
class CallersIT {

    private static final String TARGET = "targets.hot.CalledBySeveral";
    private static final String HELPER = TARGET + "$Helper.help";
    private static final String WORKER = TARGET + "$Worker.";
    /** Margins hold in 19 of 20 cases; there are more of them here. */
    private static final double SURER = 1.5;
    private static final double TOLERANCE = 0.02;
    /** Where samples have no margins. */
    private static final double WITHOUT = 0.12;
    private static final List<String> CALLERS = List.of("direct(int)", "byReflection(java.lang.reflect.Method, int)", "lambda$byLambda$0(java.lang.Integer)", "byRecursion(int)");

    @EachJdk
    void sharesAreThoseThatTheCallersMeasure(Jdk jdk) throws IOException {
        assertShares(Program.target(jdk, TARGET).with("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"), "", "--by", "cpu");
    }

    @EachJdk(oldestAndNewest = true)
    void beforeTheJitAndByTime(Jdk jdk) throws IOException {
        assertShares(Program.target(jdk, TARGET).with("-Xint"), "", "--by", "cpu");
        assertShares(Program.target(jdk, TARGET).with("-Xint"), "", "--by", "wall");
    }

    /** The samples of a recording are counted along. */
    @EachJdk(oldestAndNewest = true)
    void besideARecordingWithSamples(Jdk jdk) throws IOException {
        assertShares(Program.target(jdk, TARGET), "[sampler]\ninterval = \"5 ms\"\n", "--by", "cpu");
    }

    private static void assertShares(Program target, String settings, String... options) throws IOException {
        try (Dialog program = start(target, settings)) {
            JsonNode found = callers(program, HELPER, options);
            double[] nanos = quit(program);
            assertEquals("samples", found.path("source").asText());
            assertTrue(found.path("share").asDouble() > (options[1].equals("cpu") ? 0.8 : 0.05), found::toString);
            double all = Arrays.stream(nanos).sum();
            for (int caller = 0; caller < nanos.length; caller++) {
                JsonNode of = named(found, WORKER + CALLERS.get(caller));
                double expected = nanos[caller] / all;
                double share = of.path("time_share").asDouble();
                double margin = of.path("margin").asDouble(WITHOUT) * SURER + TOLERANCE;
                assertTrue(Math.abs(share - expected) <= margin, () -> "%.3f, truth %.3f: %s".formatted(share, expected, found));
                assertTrue(of.has("calls") && of.path("calls").isNull(), () -> "samples do not count calls: " + of);
                assertEquals(caller == 1, of.hasNonNull("via"), of::toString);
            }
        }
    }

    /** Whoever calls a class that is passed through is the caller. */
    @EachJdk(oldestAndNewest = true)
    void classesArePassedThrough(Jdk jdk) throws IOException {
        try (Dialog program = start(Program.target(jdk, TARGET), "")) {
            JsonNode found = callers(program, TARGET + "$Helper.loop(int)", "--through", TARGET + "$Helper", "--seconds", "2");
            assertTrue(named(found, WORKER + "direct(int)").path("via").asText().startsWith(HELPER), found::toString);
            JsonNode began = callers(program, TARGET + "$Worker.work", "--through", "java.**", "--seconds", "1");
            assertTrue(began.path("callers").isEmpty() && began.path("without_caller").path(0).path("reason").asText().equals("the thread begins there"), began::toString);
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void mistakesAreNamed(Jdk jdk) throws IOException {
        try (Dialog program = start(Program.target(jdk, TARGET), "")) {
            String pid = String.valueOf(program.pid());
            Finished unknown = Tool.instr(List.of("callers", pid, TARGET + "$Helper.hepl", "--seconds", "60"));
            assertTrue(unknown.exitCode() == 1 && unknown.stderr().contains("did you mean `" + HELPER + "`"), unknown::toString);
            Finished by = Tool.instr(List.of("callers", pid, HELPER, "--by", "calls"));
            assertTrue(by.exitCode() == 2 && by.stderr().contains("wall, cpu"), by::toString);
            JsonNode never = callers(program, TARGET + "$Helper.nobodyCallsIt", "--seconds", "1");
            assertTrue(never.path("callers").isEmpty() && never.path("notices").toString().contains("none of"), never::toString);
            quit(program);
        }
    }

    private static Dialog start(Program target, String settings) {
        String rules = "[[rule]]\nclass = \"other.**\"\n" + settings;
        return target.talkWithAgent(AgentConfig.of(rules), RunDirectories.create());
    }

    private static double[] quit(Dialog program) {
        program.send("quit");
        double[] nanos = Arrays.stream(program.next().split(" ")).mapToDouble(Double::parseDouble).toArray();
        program.finish().assertExitCode(0);
        return nanos;
    }

    private static JsonNode callers(Dialog program, String method, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of("callers", String.valueOf(program.pid()), method, "--json"));
        command.addAll(Arrays.asList(options));
        if (!command.contains("--seconds")) {
            command.addAll(List.of("--seconds", "5"));
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
