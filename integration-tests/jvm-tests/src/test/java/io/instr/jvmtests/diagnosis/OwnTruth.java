package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.Dialog;
import java.io.IOException;
import java.util.Arrays;
import java.util.stream.StreamSupport;

/** What the program has counted and measured itself from one question to the next, of one of its roots. */
record OwnTruth(String root, JsonNode before, JsonNode after) {

    /** The length of a call may differ by this much. */
    private static final double MOST_DIFFERENCE = 0.05;

    static JsonNode ask(Dialog program) throws IOException {
        return new ObjectMapper().readTree(program.ask("truth"));
    }

    static OwnTruth since(JsonNode before, String root, Dialog program) throws IOException {
        return new OwnTruth(root, before.get(root), ask(program).get(root));
    }

    long calls() {
        return after.get("calls").asLong() - before.get("calls").asLong();
    }

    long slowCalls() {
        return after.get("slow_calls").asLong() - before.get("slow_calls").asLong();
    }

    /**
     * The diagnosis has measured the same for this node. Its last figures are those of some slow calls one after the other; how many there were
     * since, nobody knows. On a machine with other work, calls of another moment take another time.
     */
    void assertMeasured(String node, Diagnosed diagnosed, Diagnosed.Step step) {
        double[] own = StreamSupport.stream(after.at("/nodes/" + node + "/latest_slow_nanos").spliterator(), false).mapToDouble(JsonNode::asDouble).toArray();
        int calls = Math.min(diagnosed.json().at("/tree/slow_calls").asInt(), own.length);
        double measured = diagnosed.millisInSlowCall(step);
        double nearest = Double.NaN;
        for (int first = 0; first + calls <= own.length; first++) {
            double mean = Arrays.stream(own, first, first + calls).average().orElseThrow() / 1e6;
            nearest = Math.abs(measured - mean) >= Math.abs(measured - nearest) ? nearest : mean;
        }
        double found = nearest;
        assertTrue(Math.abs(measured - found) <= MOST_DIFFERENCE * found, () -> "%s: %.3f ms measured, %.3f ms by the program itself: %s".formatted(
                node, measured, found, diagnosed));
    }

    /** No more calls than there were, two that had begun before included. */
    void assertCounted(Diagnosed diagnosed) {
        long calls = diagnosed.json().path("calls").asLong();
        long slow = diagnosed.json().path("slow").asLong();
        assertTrue(calls > 0 && slow > 0 && calls <= calls() + 2 && slow <= slowCalls() + 2,
                () -> "of " + calls() + " calls " + slowCalls() + " were slow: " + diagnosed);
    }
}
