package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.Dialog;
import java.io.IOException;

/** What the program has counted and measured itself from one question to the next, of one of its roots. */
record OwnTruth(String root, JsonNode before, JsonNode after) {

    /** The length of a call may differ by this much: the program's times are those of other calls than the diagnosis has measured. */
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

    /** The time of a node in a slow call of the root, on average. */
    private double millisInSlowCall(String node) {
        double nanos = after.at("/nodes/" + node + "/slow_nanos").asDouble() - before.at("/nodes/" + node + "/slow_nanos").asDouble();
        return nanos / 1e6 / slowCalls();
    }

    /** The diagnosis has measured the same for this node. */
    void assertMeasured(String node, Diagnosed diagnosed, Diagnosed.Step step) {
        double own = millisInSlowCall(node);
        double measured = diagnosed.millisInSlowCall(step);
        assertTrue(Math.abs(measured - own) <= MOST_DIFFERENCE * own, () -> "%s: %.3f ms measured, %.3f ms by the program itself: %s".formatted(
                node, measured, own, diagnosed));
    }

    /** No more calls than there were, two that had begun before included. */
    void assertCounted(Diagnosed diagnosed) {
        long calls = diagnosed.json().path("calls").asLong();
        long slow = diagnosed.json().path("slow").asLong();
        assertTrue(calls > 0 && slow > 0 && calls <= calls() + 2 && slow <= slowCalls() + 2,
                () -> "of " + calls() + " calls " + slowCalls() + " were slow: " + diagnosed);
    }
}
