package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Tag;

/** Diagnoses of programs drawn at random: the slow path is found, whatever kinds of methods are on it, and its times are those of the program. */
@Tag("timed")
class RandomGraphsIT {

    /** {@code -Dinstr.seed=N} runs one alone. */
    private static final Long ONLY = Long.getLong("instr.seed");
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;
    /** A numbered method, or the constructor of a numbered class. */
    private static final Pattern NUMBERED = Pattern.compile("targets\\.graph\\.Graph[$.](?:\\w+\\.n(\\d+)|N(\\d+)\\.<init>)\\(.*");

    @EachJdk
    void theSlowPathIsFound(Jdk jdk) {
        List<String> failures = new ArrayList<>();
        seeds(jdk).forEach(seed -> {
            RandomGraph graph = new RandomGraph(seed);
            try {
                diagnose(graph, jdk);
            } catch (IOException | AssertionError failure) {
                failures.add(graph + "\n" + failure.getMessage());
            }
        });
        assertTrue(failures.isEmpty(), () -> failures.size() + " failed:\n" + String.join("\n\n", failures));
    }

    /** On other JDKs a few are enough: each of the four ways to be slow, and one more. */
    private static LongStream seeds(Jdk jdk) {
        boolean hasAll = jdk.feature() == 17 || jdk.feature() >= 25;
        return ONLY == null ? LongStream.range(0, hasAll ? 20 : 5) : LongStream.of(ONLY);
    }

    private static void diagnose(RandomGraph graph, Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Program compiled = CompiledGraph.of(graph, jdk, directory);
        try (Dialog program = compiled.talkWithAgent(AgentConfig.of(NO_RULE), directory)) {
            JsonNode before = OwnTruth.ask(program);
            Diagnosed diagnosed = Diagnosed.of(program, RandomGraph.CLASS + ".root", "--slower-than", "15ms");
            OwnTruth truth = OwnTruth.since(before, "root", program);
            diagnosed.assertQuickAndConclusive();
            truth.assertCounted(diagnosed);
            List<Diagnosed.Step> steps = numbered(diagnosed);
            if (graph.recursesOnThePath) {
                assertLeadsToTheRecursion(graph, diagnosed, steps);
            } else {
                assertEquals(graph.path, steps.stream().map(step -> number(step)).toList(), diagnosed::toString);
                steps.forEach(step -> assertTrue(step.share() >= 0.8, () -> step + " in " + diagnosed));
                steps.forEach(step -> truth.assertMeasured("n" + number(step), diagnosed, step));
                assertEndsRightly(graph, diagnosed);
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** What a recursive method calls is measured in its outermost call or in an inner one: the path divides there. */
    private static void assertLeadsToTheRecursion(RandomGraph graph, Diagnosed diagnosed, List<Diagnosed.Step> steps) {
        List<Integer> found = steps.stream().map(step -> number(step)).toList();
        List<Integer> upToRecursion = graph.path.subList(0, graph.path.size() / 2 + 1);
        assertTrue(found.size() >= upToRecursion.size() && graph.path.subList(0, found.size()).equals(found), diagnosed::toString);
        steps.subList(0, upToRecursion.size()).forEach(step -> assertTrue(step.share() >= 0.8, () -> step + " in " + diagnosed));
    }

    /** The program's own methods on the chain; several nodes in succession for one method, such as an interface and its implementer, count as the first. */
    private static List<Diagnosed.Step> numbered(Diagnosed diagnosed) {
        List<Diagnosed.Step> steps = new ArrayList<>();
        for (Diagnosed.Step step : diagnosed.chain()) {
            boolean isNext = !step.kind().equals("own-code") && number(step) > 0;
            if (isNext && (steps.isEmpty() || number(steps.get(steps.size() - 1)) != number(step))) {
                steps.add(step);
            }
        }
        return steps;
    }

    private static int number(Diagnosed.Step step) {
        Matcher numbered = NUMBERED.matcher(step.method());
        return !numbered.matches() ? 0 : Integer.parseInt(numbered.group(1) != null ? numbered.group(1) : numbered.group(2));
    }

    private static void assertEndsRightly(RandomGraph graph, Diagnosed diagnosed) {
        Diagnosed.Step last = diagnosed.last();
        boolean isRight = switch (graph.way) {
            case "spin" -> last.kind().equals("own-code");
            // The work is another thread's.
            case "executor" -> last.kind().equals("waiting") && last.name().equals("get");
            default -> List.of("waiting", "native").contains(last.kind());
        };
        assertTrue(isRight, () -> "ends at " + last + ": " + diagnosed);
    }
}
