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
import java.util.List;
import org.junit.jupiter.api.Tag;

/** What the callers of a method have it use: processor time, bytes, cycles, by {@code instr callers --by} and {@code instr walk --metric}. */
@Tag("timed")
class MetricsOfCallersIT {

    private static final String TARGET = "targets.hot.Using";
    private static final String USE = TARGET + ".use(int, boolean)";
    private static final double TOLERANCE = 0.02;

    @EachJdk
    void aHookMeasuresByProcessorTimeAndBytes(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            JsonNode bytes = callers(program, "allocated");
            assertEquals("allocated", bytes.path("by").asText());
            assertEquals(0.1, share(bytes, "works"), TOLERANCE, bytes::toString);
            assertEquals(18_016.0, caller(bytes, "waits").path("amount").asDouble() / caller(bytes, "waits").path("calls").asDouble(), 400, bytes::toString);
            assertEquals(0.5, caller(bytes, "works").path("calls_share").asDouble(), TOLERANCE, bytes::toString);
            JsonNode cpu = callers(program, "cpu");
            assertTrue(share(cpu, "works") > 0.8, cpu::toString);
            JsonNode time = callers(program, "wall");
            assertTrue(share(time, "works") < 0.4, time::toString);
            quit(program);
        }
    }

    /** Virtual machines have no such counters, as a rule. */
    @EachJdk(oldestAndNewest = true)
    void countersOfTheProcessorCountOrAreUnavailableForAReason(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            for (String metric : List.of("cycles", "instructions")) {
                Finished found = Tool.instr(List.of("callers", String.valueOf(program.pid()), USE, "--source", "finder", "--by", metric, "--seconds", "3", "--json"));
                if (found.exitCode() == 0) {
                    JsonNode callers = new ObjectMapper().readTree(found.stdout());
                    assertTrue(share(callers, "works") > 0.8, callers::toString);
                } else {
                    assertTrue(found.stderr().contains("`" + metric + "` is unavailable: perf_event_open: "), found::toString);
                    Finished walk = Tool.instr(List.of("walk", String.valueOf(program.pid()), "--metric", metric));
                    assertTrue(walk.exitCode() == 1 && walk.stderr().contains("is unavailable: perf_event_open: "), walk::toString);
                }
            }
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aWalkGoesUpFromWhereMostIsAllocated(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            List<String> command = List.of("walk", String.valueOf(program.pid()), "--metric", "allocated", "--seconds", "3", "--period", "2000", "--top", "1", "--json");
            JsonNode found = new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
            assertEquals("allocated", found.path("metric").asText());
            assertEquals(USE, found.path("hot").path(0).path("method").asText(), found::toString);
            JsonNode level = found.path("levels").path(0);
            assertEquals("finder", level.path("source").asText(), found::toString);
            assertEquals(0.1, share(level, "works"), TOLERANCE, level::toString);
            assertTrue(level.path("callers").path(0).path("time_ms").isNull(), level::toString);
            List<String> ended = new ArrayList<>(command);
            ended.addAll(List.of("--levels", "1", "--used", "2000000"));
            JsonNode used = new ObjectMapper().readTree(Tool.instr(ended).assertExitCode(0).stdout()).path("levels").path(0);
            int calls = used.path("calls").asInt();
            // A call has 10,000 bytes on the average, and a window 25 calls.
            assertTrue(calls >= 180 && calls <= 300, used::toString);
            TwoHotMethods.assertNoProbeOfWalks(String.valueOf(program.pid()));
            quit(program);
        }
    }

    private static Dialog start(Jdk jdk) {
        return Program.target(jdk, TARGET).talkWithAgent(AgentConfig.of(""), RunDirectories.create());
    }

    private static JsonNode callers(Dialog program, String by) throws IOException {
        List<String> command = new ArrayList<>(List.of("callers", String.valueOf(program.pid()), USE, "--source", "finder", "--by", by, "--seconds", "4", "--json"));
        return new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
    }

    private static double share(JsonNode found, String method) {
        return caller(found, method).path("time_share").asDouble(-1);
    }

    private static JsonNode caller(JsonNode found, String method) {
        for (JsonNode caller : found.path("callers")) {
            if (caller.path("method").asText().equals(TARGET + "." + method + "()")) {
                return caller;
            }
        }
        throw new AssertionError(method + ": " + found);
    }

    private static void quit(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }
}
