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
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;

/** {@code instr walk} where rules have given methods their probes before: these are used, and are afterwards as they were. */
@Tag("timed")
class WalkOfProbedMethodsIT {

    private static final double TOLERANCE = 0.02;
    private static final double SURER = 1.5;
    /** Fewer than there are: so there are windows. */
    private static final String CALLS = "4000";
    private static final String ALONE = "[governor]\nenabled = false\n";
    private static final String LIVE = "[control]\nlive = true\n" + ALONE;
    /** The methods of a walk, and not those within them, which are called millions of times a second. */
    private static final String MEASURED = Stream.of("right", "both", "one").map(method -> text(method, "time")).collect(Collectors.joining());

    @EachJdk(oldestAndNewest = true)
    void levelsAreRaisedAndPutBack(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = start(jdk, directory, rule("*", "watch"))) {
            String before = levels(program);
            assertTrue(before.contains("at level watch") && !before.contains("at level time"), before);
            JsonNode found = walk(program);
            assertEquals(0, found.path("hooks").path("changes").asInt(-1), found::toString);
            assertTrue(found.path("hooks").path("most").asInt() >= 3, found::toString);
            assertEquals(before, levels(program));
            TwoHotMethods.assertNoProbeOfWalks(String.valueOf(program.pid()));
            TwoHotMethods.assertUnharmed(program);
        }
        assertEquals(List.of(), Trace.read(directory.resolve("trace.jfr")).calls().stream().filter(Trace.Call::exact).toList(), "calls that were recorded for the walk alone");
    }

    /** A probe whose level can change takes its place for the walk. */
    @EachJdk(oldestAndNewest = true)
    void probesWithAFixedLevelAreThereAgainAfterwards(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, RunDirectories.create(), fixed("*", "watch"))) {
            String before = levels(program);
            JsonNode found = walk(program);
            assertTrue(found.path("hooks").path("changes").asInt(-1) > 0, found::toString);
            assertEquals(before, levels(program));
            walk(program);
            assertEquals(before, levels(program), "after a second walk");
            TwoHotMethods.assertUnharmed(program);
        }
    }

    /** Their arguments would be in the recording. */
    @EachJdk(oldestAndNewest = true)
    void probesThatRecordArgumentsStayAsTheyAre(Jdk jdk) throws IOException {
        AgentConfig config = AgentConfig.of(LIVE + text("right", "watch") + "arguments = [\"1\"]\n");
        try (Dialog program = start(jdk, RunDirectories.create(), config)) {
            JsonNode right = level(walkUnchecked(program), "right");
            assertTrue(right.path("reason").asText().contains("at level watch, which records arguments or results"), right::toString);
            TwoHotMethods.assertUnharmed(program);
        }
    }

    /** What is read is the governor's, or a person's, to change. */
    @EachJdk(oldestAndNewest = true)
    void aLevelThatIsLoweredMeanwhileIsNoLoopOfAThread(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, RunDirectories.create(), rule("both", "time"))) {
            await(() -> TwoHotMethods.truth(program), counted -> counted[0] > 20_000);
            String pid = String.valueOf(program.pid());
            CompletableFuture<String> walk = CompletableFuture.supplyAsync(() -> Tool.instr(List.of("walk", pid, "--method", TwoHotMethods.named("right"), "--seconds", "1", "--share", "1", "--period", "3000", "--levels", "1", "--json")).stdout());
            await(() -> Tool.instr(List.of("walk", pid, "--show")).stdout(), shown -> shown.contains("measuring level 1"));
            Tool.instr(List.of("level", pid, TwoHotMethods.CLASS + ".both", "off")).assertExitCode(0);
            JsonNode right = level(new ObjectMapper().readTree(walk.join()), "right");
            assertTrue(right.path("reason").asText().contains("somebody else changed the level of its probe"), right::toString);
            assertTrue(!right.path("reason").asText().contains("loop of a thread"), right::toString);
            TwoHotMethods.assertUnharmed(program);
        }
    }

    /** Whatever ends a walk, levels are those of the rules afterwards. */
    @EachJdk(oldestAndNewest = true)
    void aClientThatIsKilledLeavesNoLevelRaised(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, RunDirectories.create(), rule("*", "watch"))) {
            String before = levels(program);
            String pid = String.valueOf(program.pid());
            String instr = BuildResult.AGENT.path().resolveSibling("instr").toString();
            Process client = new ProcessBuilder(instr, "walk", pid, "--method", TwoHotMethods.named("right"), "--json", "--seconds", "1", "--period", "60000", "--calls", "100000000")
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD).start();
            await(() -> Tool.instr(List.of("walk", pid, "--show")).stdout(), shown -> shown.contains("measuring level 1"));
            client.destroyForcibly();
            await(() -> Tool.instr(List.of("walk", pid, "--show")).stdout(), shown -> shown.contains("its client has left"));
            assertEquals(before, levels(program));
            TwoHotMethods.assertUnharmed(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void whatIsRecordedAnywayIsRead(Jdk jdk) throws IOException {
        for (AgentConfig config : List.of(AgentConfig.of(LIVE + MEASURED), AgentConfig.of(ALONE + MEASURED))) {
            try (Dialog program = start(jdk, RunDirectories.create(), config)) {
                JsonNode hooks = walk(program).path("hooks");
                assertEquals(List.of(0, 0, 0), List.of(hooks.path("changes").asInt(-1), hooks.path("most").asInt(-1), hooks.path("calls").asInt(-1)), hooks::toString);
                TwoHotMethods.assertUnharmed(program);
            }
        }
    }

    @EachJdk(oldestAndNewest = true)
    void probesOfRulesAndOfTheWalkSeeTheSameCalls(Jdk jdk) throws IOException {
        for (String method : List.of("right", "both")) {
            String level = method.equals("right") ? "time" : "full";
            try (Dialog program = start(jdk, RunDirectories.create(), rule(method, level))) {
                long[] before = TwoHotMethods.truth(program);
                JsonNode found = walk(program);
                long served = TwoHotMethods.truth(program)[0] - before[0];
                assertTrue(found.path("hooks").path("changes").asInt() > 0, found::toString);
                long recorded = found.path("hooks").path("calls").asLong();
                assertTrue(recorded <= 2 * Long.parseLong(CALLS) && recorded < served, () -> "of " + served + ": " + found);
                TwoHotMethods.assertUnharmed(program);
            }
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aLevelThatAPersonHasSetStays(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, RunDirectories.create(), rule("*", "watch"))) {
            String pid = String.valueOf(program.pid());
            Tool.instr(List.of("level", pid, TwoHotMethods.CLASS + ".right", "off")).assertExitCode(0);
            JsonNode found = walkUnchecked(program);
            JsonNode right = level(found, "right");
            assertEquals("samples", right.path("source").asText(), found::toString);
            assertTrue(right.path("reason").asText().contains("at level off, which `instr level` has set"), right::toString);
            assertEquals(1, levels(program).lines().filter(line -> line.contains("at level off")).count(), levels(program));
            TwoHotMethods.assertUnharmed(program);
        }
    }

    private static Dialog start(Jdk jdk, Path directory, AgentConfig config) throws IOException {
        return TwoHotMethods.start(jdk, directory, config);
    }

    private static AgentConfig rule(String method, String level) {
        return AgentConfig.of(LIVE + text(method, level));
    }

    private static AgentConfig fixed(String method, String level) {
        return AgentConfig.of(ALONE + text(method, level));
    }

    private static String text(String method, String level) {
        return ("[[rule]]\nclass = \"%s\"\nmethod = \"%s\"\nlevel = \"%s\"\n".formatted(TwoHotMethods.CLASS, method, level));
    }

    private static String levels(Dialog program) {
        return Tool.instr(List.of("methods", String.valueOf(program.pid()))).assertExitCode(0).stdout();
    }

    /** The callers of {@code right} have the shares of the calls that the program counts. */
    private static JsonNode walk(Dialog program) throws IOException {
        long[] before = TwoHotMethods.truth(program);
        JsonNode found = walkUnchecked(program);
        long[] after = TwoHotMethods.truth(program);
        double both = after[0] - before[0];
        double one = after[1] - before[1];
        JsonNode right = level(found, "right");
        assertEquals("measured", right.path("source").asText(), found::toString);
        for (JsonNode caller : right.path("callers")) {
            double share = (caller.path("method").asText().equals(TwoHotMethods.named("both")) ? both : one) / (both + one);
            double tolerance = TOLERANCE + SURER * caller.path("calls_margin").asDouble();
            assertEquals(share, caller.path("calls_share").asDouble(-1), tolerance, found::toString);
        }
        assertEquals(2, right.path("callers").size(), found::toString);
        return found;
    }

    private static JsonNode walkUnchecked(Dialog program) throws IOException {
        await(() -> TwoHotMethods.truth(program), counted -> counted[0] > 20_000);
        String pid = String.valueOf(program.pid());
        List<String> command = List.of("walk", pid, "--method", TwoHotMethods.named("right"), "--seconds", "1", "--share", "1", "--period", "800", "--levels", "1", "--calls", CALLS, "--json");
        return new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
    }

    private static JsonNode level(JsonNode found, String of) {
        for (JsonNode level : found.path("levels")) {
            if (level.path("of").asText().equals(TwoHotMethods.named(of))) {
                return level;
            }
        }
        throw new AssertionError(of + " is on no level: " + found);
    }
}
