package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.StreamSupport;

/** What {@code instr diagnose --json} has found. */
public record Diagnosed(JsonNode json, Duration took) {

    private static final Duration LONGEST = Duration.ofSeconds(10);

    /** A node of the tree, by what the tests compare. */
    public record Step(String method, String kind, String reason, double share, JsonNode json) {

        static Step of(JsonNode node) {
            return new Step(node.path("method").asText(), node.path("kind").asText(), node.path("reason").asText(), node.path("share").asDouble(), node);
        }

        /** The method's own name. */
        public String name() {
            String path = method.replaceAll("\\(.*", "");
            return path.substring(path.lastIndexOf('.') + 1);
        }

        @Override
        public String toString() {
            return "%s (%s %.2f %s)".formatted(method, kind, share, reason);
        }
    }

    /** Runs it; it must find something. */
    public static Diagnosed of(Dialog program, String method, String... options) {
        long start = System.nanoTime();
        Finished run = run(program, method, options).assertExitCode(0);
        return of(run.stdout(), Duration.ofNanos(System.nanoTime() - start));
    }

    public static Diagnosed of(String answer, Duration took) {
        try {
            Diagnosed diagnosed = new Diagnosed(new ObjectMapper().readTree(answer), took);
            assertTrue(diagnosed.json.path("tree").isObject() && !diagnosed.json.path("sentence").asText().isEmpty(), answer);
            return diagnosed;
        } catch (IOException e) {
            throw new UncheckedIOException(answer, e);
        }
    }

    public static Finished run(Dialog program, String method, String... options) {
        return Tool.instr(arguments(program, method, options));
    }

    /** Starts it without waiting; the caller ends it. Its output is a pipe. */
    public static Process start(Dialog program, String method, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(BuildResult.AGENT.path().resolveSibling("instr").toString()));
        command.addAll(arguments(program, method, options));
        return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.DISCARD).start();
    }

    private static List<String> arguments(Dialog program, String method, String... options) {
        List<String> arguments = new ArrayList<>(List.of("diagnose", String.valueOf(program.pid()), method, "--json"));
        arguments.addAll(List.of(options));
        return arguments;
    }

    /** The method that was diagnosed, and below each node the one with the largest share, as long as that is most of the node's own. */
    public List<Step> chain() {
        List<Step> chain = new ArrayList<>();
        for (JsonNode at = json.get("tree"); at != null; at = largest(at)) {
            chain.add(Step.of(at));
        }
        return chain;
    }

    private static JsonNode largest(JsonNode node) {
        return StreamSupport.stream(node.path("children").spliterator(), false)
                .filter(child -> child.path("share").isNumber() && child.get("share").asDouble() > node.path("share").asDouble() / 2)
                .max(Comparator.comparingDouble(child -> child.get("share").asDouble()))
                .orElse(null);
    }

    public Step last() {
        List<Step> chain = chain();
        return chain.get(chain.size() - 1);
    }

    /** The names of these methods are on the chain in this order, and each has at least so large a share; returns their nodes. */
    public List<Step> assertLeadsThrough(List<String> names, double leastShare) {
        List<Step> found = new ArrayList<>();
        for (Step step : chain()) {
            if (found.size() < names.size() && step.name().equals(names.get(found.size())) && !step.kind.equals("own-code")) {
                found.add(step);
            }
        }
        assertTrue(found.size() == names.size(), () -> "not through " + names + ": " + this);
        found.forEach(step -> assertTrue(step.share >= leastShare, () -> step + " in " + this));
        return found;
    }

    /** It took less than ten seconds, and most of the time is explained. */
    public Diagnosed assertQuickAndConclusive() {
        assertTrue(took.compareTo(LONGEST) < 0, () -> "took " + took + ": " + this);
        assertTrue(json.path("explained").asDouble() >= 0.8, this::toString);
        return this;
    }

    /** The time of a node in a slow call of the method that was diagnosed, on average. */
    public double millisInSlowCall(Step step) {
        return step.json.path("slow_ms").asDouble() / json.path("tree").path("slow_calls").asDouble();
    }

    @Override
    public String toString() {
        return "took " + took + ", chain " + chain() + "\n" + json;
    }
}
