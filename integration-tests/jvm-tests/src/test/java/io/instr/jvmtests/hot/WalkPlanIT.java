package io.instr.jvmtests.hot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/** {@code instr walk --plan FILE}: the next run has the probes from the start, switched off, and a walk changes no class. */
@Tag("timed")
class WalkPlanIT {

    private static final long SERVED = 20_000;

    @EachJdk(oldestAndNewest = true)
    void theNextRunHasTheProbesFromTheStart(Jdk jdk) throws IOException {
        Path plan = RunDirectories.create().resolve("plan.toml");
        JsonNode first;
        try (Dialog program = TwoHotMethods.start(jdk, RunDirectories.create(), AgentConfig.of("[[rule]]\nclass = \"other.**\"\n"))) {
            first = walk(program, "--plan", plan.toString());
            Finished again = Tool.instr(List.of("walk", String.valueOf(program.pid()), "--plan", plan.toString()));
            assertTrue(again.exitCode() == 1 && again.stderr().contains("is there already"), again::toString);
            TwoHotMethods.assertUnharmed(program);
        }
        assertTrue(first.path("hooks").path("changes").asInt() > 0, first::toString);
        try (Dialog program = TwoHotMethods.start(jdk, RunDirectories.create(), AgentConfig.verbatim(Files.readString(plan)))) {
            JsonNode second = walk(program);
            assertEquals(0, second.path("hooks").path("changes").asInt(-1), second::toString);
            assertEquals(measured(first), measured(second));
            String inventory = Tool.instr(List.of("methods", String.valueOf(program.pid()))).assertExitCode(0).stdout();
            List<String> methods = inventory.lines().filter(line -> !line.startsWith("#")).toList();
            assertTrue(methods.size() > 2 && methods.stream().allMatch(line -> line.contains("at level off")), "off before and after: " + inventory);
            TwoHotMethods.assertUnharmed(program);
        }
    }

    /** Methods and callers whose calls were measured. */
    private static Set<String> measured(JsonNode found) {
        Set<String> measured = new HashSet<>();
        for (JsonNode level : found.path("levels")) {
            if (level.path("source").asText().equals("measured")) {
                level.path("callers").forEach(caller -> {
                    if (caller.path("calls").asInt() > 0) {
                        measured.add(level.path("of").asText() + " by " + caller.path("method").asText());
                    }
                });
            }
        }
        assertTrue(measured.size() >= 3, found::toString);
        return measured;
    }

    private static JsonNode walk(Dialog program, String... options) throws IOException {
        Awaiting.await(() -> TwoHotMethods.truth(program), counted -> counted[0] > SERVED);
        List<String> command = new ArrayList<>(List.of("walk", String.valueOf(program.pid()), "--method", TwoHotMethods.named("right"), "--seconds", "2", "--share", "1", "--period", "800", "--levels", "3", "--json"));
        command.addAll(List.of(options));
        return new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
    }
}
