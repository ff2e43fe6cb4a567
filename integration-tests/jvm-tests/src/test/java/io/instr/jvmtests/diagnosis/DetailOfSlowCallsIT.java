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
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Tag;

/** Methods whose calls were slow record more of their next calls, and as much as before when they are fast again, without anybody's doing. */
@Tag("timed")
class DetailOfSlowCallsIT {

    private static final String TARGET = "targets.diagnosis.ScriptedCalls";
    private static final String PROBES = """
            [[rule]]
            class = "targets.diagnosis.ScriptedCalls"
            method = ["pay", "browse", "price"]
            level = "time"
            [[context]]
            in = "targets.diagnosis.ScriptedCalls.browse"
            methods = "targets.diagnosis.ScriptedCalls.price"
            """;
    private static final String DETAIL = """
            [[slow-calls]]
            methods = "targets.diagnosis.**"
            slower-than = "200 ms"
            detail = "full"
            detail-calls = 60
            """;
    private static final String INSIDE = "price inside " + TARGET + ".browse";
    private static final List<String> ALL = List.of("browse", "pay", "price", INSIDE);

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true)
    void theLevelIsRaisedAfterSlowCallsAndLoweredAfterFastOnes(Jdk jdk) throws Exception {
        long paid = 0;
        try (Dialog program = start(jdk, DETAIL + "detail-for = \"60 min\"\n")) {
            program.ask("pay fast 100");
            program.ask("browse fast 100");
            program.ask("pay slow 2");
            assertEquals(Set.of(), raised(program), "two slow calls are not enough");
            program.ask("pay slow 1");
            Awaiting.await(() -> raised(program), Set.of("pay", "price")::equals);
            assertEquals(Set.of("pay", "price"), atLevel(program, "full"));
            assertEquals(Set.of("browse", INSIDE), atLevel(program, "time"), "neither another method nor another context");
            String status = ControlSocket.status(program);
            assertTrue(status.contains("ScriptedCalls.pay raised to full: 3 calls took longer than 200.0 ms"), status);
            paid = 103 + fastUntilNothingIsRaised(program, "pay");
            assertEquals(new TreeSet<>(ALL), atLevel(program, "time"));
            assertTrue(ControlSocket.status(program).contains("ScriptedCalls.pay set back to time: "), ControlSocket.status(program));
            program.ask("browse slow 3");
            Awaiting.await(() -> raised(program), Set.of("browse", "price", INSIDE)::equals);
            assertEquals(Set.of("browse", "price", INSIDE), atLevel(program, "full"), "the context in which it was slow");
            fastUntilNothingIsRaised(program, "browse");
            quit(program);
        }
        assertEquals(paid, Finished.in(directory).trace().count(TARGET + ".pay"), "no call was missed by a change");
        List<String> changes = new ArrayList<>();
        Finished.in(directory).trace().events("instr.Claim").stream()
                .filter(event -> event.getString("owner").equals("monitor") && event.getValue("method").toString().contains("pay"))
                .forEach(event -> changes.add(event.getString("from") + " " + event.getString("to")));
        assertEquals(List.of("time full", "full time"), changes);
    }

    /** Without a call, too; and what a person wants, or another configuration, goes before. */
    @EachJdk(oldestAndNewest = true)
    void timeAPersonAndAnotherConfigurationEndItToo(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk, DETAIL + "detail-for = \"3 s\"\ndetail-methods = 1\n")) {
            program.ask("pay slow 3");
            Awaiting.await(() -> raised(program), raised -> raised.size() == 1);
            Awaiting.await(() -> raised(program), Set::isEmpty);
            assertEquals(new TreeSet<>(ALL), atLevel(program, "time"));

            ControlSocket.ask(program, "{\"ask\":\"level\",\"methods\":\"" + TARGET + ".p*\",\"level\":\"watch\"}");
            program.ask("browse slow 3");
            Awaiting.await(() -> raised(program), raised -> raised.equals(Set.of("browse")) || raised.equals(Set.of(INSIDE)));
            Set<String> watched = atLevel(program, "watch");
            assertTrue(watched.containsAll(Set.of("pay", "price")), watched::toString);
            Awaiting.await(() -> raised(program), Set::isEmpty);

            program.ask("browse slow 3");
            Awaiting.await(() -> raised(program), raised -> raised.size() == 1);
            AgentConfig.of(PROBES).ungoverned().writeTo(directory);
            String reloaded = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            assertTrue(reloaded.contains("\"generation\":2"), reloaded);
            Awaiting.await(() -> raised(program), Set::isEmpty);
            assertTrue(atLevel(program, "full").isEmpty());
            quit(program);
        }
    }

    private Dialog start(Jdk jdk, String slowCalls) throws IOException {
        return Program.target(jdk, TARGET).talkWithAgent(AgentConfig.of(slowCalls + PROBES).ungoverned(), directory);
    }

    /** Returns how many calls that took. A machine with other work may make one of them slow. */
    private static long fastUntilNothingIsRaised(Dialog program, String method) {
        long[] calls = {0};
        Awaiting.await(() -> {
            program.ask(method + " fast 60");
            calls[0] += 60;
            return raised(program);
        }, Set::isEmpty);
        return calls[0];
    }

    /** The methods whose level the monitor has raised, as it claims. */
    private static Set<String> raised(Dialog program) throws IOException {
        Set<String> raised = new TreeSet<>();
        for (JsonNode claim : new ObjectMapper().readTree(ControlSocket.ask(program, "{\"ask\":\"claims\"}")).path("claims")) {
            if (claim.path("owner").asText().equals("monitor")) {
                assertEquals("detail full active", claim.path("role").asText() + " " + claim.path("level").asText() + " " + claim.path("state").asText());
                String reason = claim.path("reason").asText();
                int inside = reason.indexOf(", inside ");
                raised.add(claim.path("method").asText() + (inside < 0 ? "" : reason.substring(inside + 1)));
            }
        }
        return raised;
    }

    private static Set<String> atLevel(Dialog program, String level) throws IOException {
        Set<String> methods = new TreeSet<>();
        for (JsonNode method : new ObjectMapper().readTree(ControlSocket.ask(program, "{\"ask\":\"methods\"}")).path("part")) {
            if (method.path("level").asText().equals(level)) {
                methods.add(method.path("method").asText() + (method.has("context") ? " inside " + method.path("context").asText() : ""));
            }
        }
        return methods;
    }

    private static void quit(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }
}
