package io.instr.jvmtests.hot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.ControlSocket;
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
import java.util.concurrent.CompletableFuture;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Tag;

/** {@code instr hot}: which methods use most of the processor, the memory, the time. The program measures itself where it can. */
@Tag("timed")
class HotSpotsIT {

    private static final String TARGET = "targets.hot.HotMethods";
    private static final String INTRINSICS = "targets.hot.HotIntrinsics";
    /** The line of its source. */
    private static final int LOOP_OF_HEAVY = 58;
    private static final String BURNER = TARGET + "$Burner";
    /** Margins hold in 19 of 20 cases; there are more of them here. */
    private static final double SURER = 1.5;
    private static final double TOLERANCE = 0.02;
    private static final String[] NOTES_INLINED = {"-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"};
    private static final String BUSY = "somebody else is looking";
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;

    @EachJdk
    void byProcessorTimeTheSharesAreThoseOfTheProgram(Jdk jdk) throws IOException {
        assertBurns(Program.target(jdk, TARGET).with(NOTES_INLINED), NO_RULE, "jit", "async");
    }

    /** What the JIT has inlined before may count for its caller. */
    @EachJdk(oldestAndNewest = true)
    void withoutNotesOfTheJitThereAreNoMargins(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            assertEquals("burn", program.ask("burn"));
            JsonNode found = hot(program, "--by", "cpu", "--seconds", "2");
            JsonNode first = found.path("hot").path(0);
            assertTrue(first.path("share").asDouble() > 0 && first.path("margin").isMissingNode(), found::toString);
            assertTrue(found.path("bias").asText().contains("inlined may count for its caller"), found::toString);
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void theInterpreterIsRecognised(Jdk jdk) throws IOException {
        assertBurns(Program.target(jdk, TARGET).with("-Xint").with(NOTES_INLINED), NO_RULE, "interpreted", "async");
    }

    /** The samples of a recording are counted along. */
    @EachJdk(oldestAndNewest = true)
    void besideARecordingWithSamples(Jdk jdk) throws IOException {
        assertBurns(Program.target(jdk, TARGET), NO_RULE + "[sampler]\ninterval = \"5 ms\"\n", "jit", "async");
    }

    /** AsyncGetCallTrace reads no stack in copies of arrays and mathematics: three samples of four had no method. */
    @EachJdk
    void stubsOfTheJvmCountForTheirCallers(Jdk jdk) throws IOException {
        try (Dialog program = Program.target(jdk, INTRINSICS).talkWithAgent(AgentConfig.of(NO_RULE), RunDirectories.create())) {
            // What it needs is compiled by then.
            hot(program, "--seconds", "3");
            JsonNode found = hot(program, "--seconds", "5");
            assertTrue(found.path("samples").asLong() > 100, found::toString);
            double unnamed = StreamSupport.stream(found.path("without_method").spliterator(), false)
                    .mapToDouble(reason -> reason.path("share").asDouble())
                    .sum();
            assertTrue(unnamed <= 0.02, found::toString);
            for (String method : List.of(".copy()", ".calculate()")) {
                JsonNode caller = named(found, INTRINSICS + method);
                assertTrue(caller.path("share").asDouble() > 0.1, found::toString);
                assertEquals("native", caller.path("kind").asText(), found::toString);
            }
            program.send("quit");
            assertEquals("quit", program.next());
            program.finish().assertExitCode(0);
        }
    }

    private static void assertBurns(Program target, String rules, String kind, String source) throws IOException {
        try (Dialog program = target.talkWithAgent(AgentConfig.of(rules), RunDirectories.create())) {
            assertEquals("burn", program.ask("burn"));
            JsonNode found = hot(program, "--by", "cpu", "--seconds", "5");
            assertEquals(source, found.path("source").asText(), found::toString);
            assertTrue(found.path("samples").asLong() > 40, found::toString);
            program.send("quit");
            String[] truth = program.next().split(" ");
            double heavy = Double.parseDouble(truth[1]);
            double part = heavy / (heavy + Double.parseDouble(truth[3]));
            JsonNode first = found.path("hot").path(0);
            assertEquals(BURNER + ".heavy(int)", first.path("method").asText(), found::toString);
            assertEquals(kind, first.path("kind").asText(), found::toString);
            if (kind.equals("jit")) {
                assertEquals(LOOP_OF_HEAVY, first.path("lines").path(0).path("line").asInt(), found::toString);
            } else {
                assertTrue(first.path("lines").isMissingNode(), found::toString);
            }
            JsonNode light = named(found, BURNER + ".light(int)");
            double together = first.path("share").asDouble() + light.path("share").asDouble();
            // Other threads use some time, too: the JVM's, and the one that reads the lines.
            assertTrue(together > 0.8, found::toString);
            double share = first.path("share").asDouble() / together;
            assertTrue(Math.abs(share - part) <= first.path("margin").asDouble() * SURER + TOLERANCE, () -> "%.3f, truth %.3f: %s".formatted(share, part, found));
            assertEquals("targets.hot", found.path("packages").path(0).path("package").asText(), found::toString);
            program.finish().assertExitCode(0);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void byAllocatedBytesTheSharesAreThoseOfTheProgram(Jdk jdk) throws IOException {
        for (String rules : List.of(NO_RULE, NO_RULE + "[allocation]\ninterval-kb = 64\n")) {
            try (Dialog program = start(jdk, rules)) {
                assertEquals("allocate", program.ask("allocate"));
                JsonNode found = hot(program, "--by", "allocated", "--seconds", "2");
                JsonNode large = named(found, TARGET + "$Allocator.large()");
                double expected = 3_016.0 / (3_016 + 1_016);
                assertTrue(Math.abs(large.path("share").asDouble() - expected) <= large.path("margin").asDouble() * SURER + TOLERANCE, found::toString);
                quit(program);
            }
        }
    }

    @EachJdk(oldestAndNewest = true)
    void byTimeThreadsThatWaitCountAndAreSaidToWait(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            assertEquals("wait", program.ask("wait"));
            assertEquals("burn", program.ask("burn"));
            JsonNode found = hot(program, "--by", "wall", "--seconds", "3", "--share", "1");
            List<String> methods = new ArrayList<>();
            found.path("hot").forEach(spot -> methods.add(spot.path("method").asText() + " " + Math.round(spot.path("waiting").asDouble())));
            assertTrue(methods.stream().anyMatch(method -> method.matches("(jdk.internal.misc|sun.misc).Unsafe.park\\(boolean, long\\) 1")), found::toString);
            assertTrue(methods.stream().anyMatch(method -> method.matches("java.lang.Thread.sleep\\w*\\(long\\) 1")), found::toString);
            assertTrue(methods.contains(BURNER + ".heavy(int) 0"), found::toString);
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void byMonitorsTheMethodThatWaitsIsNamed(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            assertEquals(0, hot(program, "--by", "locks", "--seconds", "1").path("samples").asLong());
            assertEquals("contend", program.ask("contend"));
            JsonNode found = hot(program, "--by", "locks", "--seconds", "3");
            JsonNode enter = named(found, TARGET + "$Contender.enter()");
            assertTrue(enter.path("share").asDouble() > 0.9, found::toString);
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void byCallsThoseOfProbesAreCounted(Jdk jdk) throws IOException {
        String rule = "[[rule]]\nclass = \"" + BURNER + "\"\nlevel = \"time\"\n";
        try (Dialog program = start(jdk, rule)) {
            assertEquals("burn", program.ask("burn"));
            JsonNode found = hot(program, "--by", "calls", "--seconds", "3");
            for (String method : List.of(".heavy(int)", ".light(int)")) {
                double share = named(found, BURNER + method).path("share").asDouble();
                assertTrue(Math.abs(share - 0.5) < 0.05, found::toString);
            }
            quit(program);
        }
    }

    /** Samples at safepoints claim no margins. */
    @EachJdk(oldestAndNewest = true)
    void biasedSamplesHaveNoMargins(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE + "[sampler]\nengine = \"jvmti\"\n")) {
            assertEquals("burn", program.ask("burn"));
            JsonNode found = hot(program, "--by", "cpu", "--seconds", "2");
            assertEquals("jvmti", found.path("source").asText(), found::toString);
            JsonNode first = found.path("hot").path(0);
            assertTrue(first.path("share").asDouble() > 0 && first.path("margin").isMissingNode(), found::toString);
            assertTrue(found.path("notices").toString().contains("biased"), found::toString);
            quit(program);
        }
    }

    /** One looks at a time; a detach does not wait for it, and the program goes on. */
    @EachJdk(oldestAndNewest = true)
    void twoAtOnceAndADetachMeanwhile(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk, NO_RULE)) {
            assertEquals("burn", program.ask("burn"));
            // Until it is not refused because of the short ones that ask whether it has begun.
            CompletableFuture<String> first = CompletableFuture.supplyAsync(() -> ControlSocket.awaitAnswer(program, "{\"ask\":\"hot\",\"seconds\":60}", answer -> !answer.contains(BUSY)));
            ControlSocket.awaitAnswer(program, "{\"ask\":\"hot\",\"seconds\":1}", answer -> answer.contains(BUSY));
            Finished refused = Tool.instr(List.of("hot", String.valueOf(program.pid()), "--json", "--seconds", "1"));
            assertTrue(refused.exitCode() == 1 && refused.stdout().isEmpty() && refused.stderr().contains(BUSY), refused::toString);
            Tool.instr(List.of("detach", String.valueOf(program.pid()))).assertExitCode(0);
            // Either the answer came, or the agent left before.
            String answer = first.handle((text, error) -> text == null ? "" : text).get();
            assertTrue(answer.isEmpty() || new ObjectMapper().readTree(answer).path("seconds").asDouble() < 60, answer);
            assertEquals("wait", program.ask("wait"));
            quit(program);
        }
    }

    /** Nobody waits for it any more. */
    @EachJdk(oldestAndNewest = true)
    void itEndsWithItsClient(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk, NO_RULE)) {
            assertEquals("burn", program.ask("burn"));
            List<String> command = List.of(BuildResult.AGENT.path().resolveSibling("instr").toString(), "hot", String.valueOf(program.pid()), "--seconds", "200");
            ProcessBuilder client = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD);
            Process looking;
            String answer;
            do {
                looking = client.start();
                answer = ControlSocket.ask(program, "{\"ask\":\"hot\",\"seconds\":1}");
                // If this request came first, the client was refused.
            } while (!answer.contains(BUSY));
            looking.destroyForcibly().waitFor();
            ControlSocket.awaitAnswer(program, "{\"ask\":\"hot\",\"seconds\":1}", text -> !text.contains(BUSY));
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void mistakesAreNamed(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            Finished unknown = Tool.instr(List.of("hot", String.valueOf(program.pid()), "--by", "cpus"));
            assertTrue(unknown.exitCode() == 2 && unknown.stderr().contains("cpu, wall, allocated, locks, calls"), unknown::toString);
            Finished none = Tool.instr(List.of("hot", String.valueOf(ProcessHandle.current().pid()), "--seconds", "1"));
            assertTrue(none.exitCode() == 1 && none.stderr().contains("instr attach"), none::toString);
            String tooLong = ControlSocket.ask(program, "{\"ask\":\"hot\",\"seconds\":1000}");
            assertTrue(tooLong.contains("from 1 to 240 s"), tooLong);
            quit(program);
        }
    }

    private static Dialog start(Jdk jdk, String rules) {
        return Program.target(jdk, TARGET).talkWithAgent(AgentConfig.of(rules), RunDirectories.create());
    }

    private static void quit(Dialog program) {
        program.send("quit");
        program.next();
        program.finish().assertExitCode(0);
    }

    private static JsonNode hot(Dialog program, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of("hot", String.valueOf(program.pid()), "--json"));
        command.addAll(Arrays.asList(options));
        return new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
    }

    private static JsonNode named(JsonNode found, String method) {
        return StreamSupport.stream(found.path("hot").spliterator(), false)
                .filter(spot -> spot.path("method").asText().equals(method))
                .findFirst()
                .orElseThrow(() -> new AssertionError(method + " is not hot: " + found));
    }
}
