package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Tag;

/** Methods with slow calls are found by the records of their probes, and diagnosed, with and without being asked. */
@Tag("timed")
class MonitorIT {

    private static final String TARGET = "targets.diagnosis.SlowBranch";
    private static final String BOTH_ROOTS = """
            [[rule]]
            class = "targets.diagnosis.SlowBranch"
            method = ["pay", "browse"]
            level = "time"
            """;

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true)
    void suspectsAreDiagnosedWithoutBeingAsked(Jdk jdk) throws Exception {
        String monitor = """
                [monitor]
                diagnose = true
                at-once = 2
                [[slow-calls]]
                methods = "category:catch-all"
                slower-than = "15 ms"
                """;
        try (Dialog program = start(jdk, AgentConfig.of(monitor + BOTH_ROOTS))) {
            for (String[] slow : new String[][] {{"pay", "Service.price"}, {"browse", "Service.suggest"}}) {
                JsonNode suspect = Awaiting.await(() -> suspect(program, slow[0]), found -> found != null && found.has("sentence"));
                assertTrue(suspect.path("sentence").asText().contains(slow[1]), suspect::toString);
                assertEquals("category:catch-all", suspect.path("stated_for").asText());
                assertTrue(suspect.path("slow").asLong() * 2 < suspect.path("calls").asLong(), () -> "one call in four is slow: " + suspect);
                assertTrue(suspect.path("not_diagnosed").asText().contains("again-after"), suspect::toString);
                JsonNode diagnosis = ask(program, "{\"ask\":\"diagnosis\",\"claim\":" + suspect.get("diagnosis") + "}");
                assertTrue(diagnosis.path("evidence").asText().contains("took longer than 15.0 ms"), diagnosis::toString);
                Finished shown = Tool.instr(List.of("diagnose", String.valueOf(program.pid()), "--show", suspect.get("diagnosis").asText())).assertExitCode(0);
                assertTrue(shown.stdout().contains(slow[1]), "one that has ended is shown, too: " + shown);
            }
            Finished unknown = Tool.instr(List.of("diagnose", String.valueOf(program.pid()), "--show", "4711"));
            assertTrue(unknown.stderr().contains("no diagnosis with the number 4711") && unknown.stderr().contains("`instr report FILE`"), unknown::toString);
            // Only what is no rule's has a number.
            Awaiting.await(() -> ask(program, "{\"ask\":\"claims\"}").findValues("id"), ids -> ids.stream().noneMatch(JsonNode::isNumber));
            quit(program);
        }
    }

    /** Two methods of one class: nobody has said which calls are slow, and nothing is begun. */
    @EachJdk(oldestAndNewest = true)
    void whatIsSlowIsLearntAndOneIsDiagnosedOnRequest(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk, AgentConfig.of(BOTH_ROOTS))) {
            Awaiting.await(() -> suspect(program, "pay"), found -> found != null && found.path("slow").asLong() > 10);
            Finished listed = Tool.instr(List.of("suspects", String.valueOf(program.pid()))).assertExitCode(0);
            assertTrue(listed.stdout().contains("learnt") && listed.stdout().contains("2 suspects of 2 methods"), listed::toString);
            JsonNode only = ask(program, "{\"ask\":\"suspects\",\"methods\":\"" + TARGET + ".browse\",\"slower_than_us\":15000}");
            assertEquals(1, only.path("suspects").size(), only::toString);
            String none = ControlSocket.ask(program, "{\"ask\":\"suspects\",\"methods\":\"category:none\"}");
            assertTrue(none.contains("no template has the category `none`"), none);
            String wrong = ControlSocket.ask(program, "{\"ask\":\"suspects\",\"methods\":\"" + TARGET + ".brows\"}");
            assertTrue(wrong.contains("no loaded method that matches ") && wrong.contains("did you mean `" + TARGET + ".browse`?"), wrong);
            Finished diagnosed = Tool.instr(List.of("diagnose", String.valueOf(program.pid()), "--slower-than", "15ms", "--json")).assertExitCode(0);
            assertTrue(diagnosed.stdout().contains("Service.price") || diagnosed.stdout().contains("Service.suggest"), diagnosed::toString);
            quit(program);
        }
    }

    private Dialog start(Jdk jdk, AgentConfig config) throws Exception {
        return Program.target(jdk, TARGET).talkWithAgent(config.ungoverned(), directory);
    }

    /** The suspect of this name, or null. */
    private static JsonNode suspect(Dialog program, String name) {
        for (JsonNode suspect : ask(program, "{\"ask\":\"suspects\"}").path("suspects")) {
            if (suspect.path("method").asText().startsWith(TARGET + "." + name + "(")) {
                return suspect;
            }
        }
        return null;
    }

    private static JsonNode ask(Dialog program, String request) {
        try {
            return new ObjectMapper().readTree(ControlSocket.ask(program, request));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void quit(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }
}
