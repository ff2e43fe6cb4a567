package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** Claims that end by themselves: with their client, by processor cycles, and by the health of the application. */
class EndsOfClaimsIT {

    private static final String CLAIMS = "{\"ask\":\"claims\"}";
    private static final Path CLOCK_SOURCE = Path.of("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;

    private final Path directory = RunDirectories.create();

    /** The claim outlasts a client that is stopped, which keeps nobody else from asking, and ends when the client is killed. */
    @EachJdk(oldestAndNewest = true)
    void aClaimEndsWithItsClient(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk, "targets.Conversation", NO_RULE)) {
            String original = program.ask("position");
            Process client = new ProcessBuilder(BuildResult.AGENT.path().resolveSibling("instr").toString(), "probe",
                    String.valueOf(program.pid()), "targets.Conversation.position", "--while-connected").start();
            try {
                ControlSocket.awaitAnswer(program, CLAIMS, claims -> claims.contains("\"expires\":\"when its client disconnects\""));
                Awaiting.await(() -> program.ask("position"), position -> !position.equals(original));
                kill("-STOP", client);
                String claims = ControlSocket.ask(program, CLAIMS);
                assertTrue(claims.contains("\"owner\":\"user\""), claims);
                assertNotEquals(original, program.ask("position"), "the client is stopped, and connected");
                kill("-KILL", client);
                ControlSocket.await(program, status -> status.contains("removed: its client has disconnected"));
            } finally {
                client.destroyForcibly();
            }
            assertEquals(original, program.ask("position"), "its own bytecode");
            String refused = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"a.B.c\",\"while_connected\":true}");
            assertTrue(refused.contains("give the request an `id`"), refused);
            end(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aClaimEndsWhenTheProcessHasUsedItsCycles(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "targets.Conversation", NO_RULE)) {
            String answer = probe(program, "targets.Conversation.step", "\"cycles\":300000000000");
            if (!Files.readString(CLOCK_SOURCE).strip().equals("tsc")) {
                assertTrue(answer.contains("processor cycles are not counted here"), answer);
                end(program);
                return;
            }
            probe(program, "targets.Conversation.step", "\"cycles\":30000000");
            String claims = ControlSocket.ask(program, CLAIMS);
            assertTrue(claims.contains("\"expires\":\"after 300,000,000,000 processor cycles of the process\""), claims);
            program.ask("work 100000");
            ControlSocket.await(program, status -> status.contains("claim 2: 0 probes of targets.Conversation.step removed: its processor cycles have been used"));
            claims = ControlSocket.ask(program, CLAIMS);
            assertTrue(claims.contains("\"id\":1,") && !claims.contains("\"id\":2,"), claims);
            String refused = probe(program, "targets.Conversation.step", "\"while_healthy\":true");
            assertTrue(refused.contains("there is no breaker: `enabled = false` in [governor] switches it off"), refused);
            end(program);
        }
    }

    /** One claim ends because the JVM only collects; the other one when that has been over for two seconds. */
    @EachJdk(from = 25)
    void claimsEndByTheHealthOfTheApplication(Jdk jdk) throws IOException {
        String breaker = "[governor]\nbudget-percent = 0\ngc-percent = 25\nrecovery-seconds = 1\n";
        try (Dialog program = start(jdk, "targets.HeapPressure", breaker + NO_RULE, "-Xmx128m", "-XX:+UseSerialGC")) {
            program.ask("press");
            ControlSocket.await(program, status -> status.contains("\"paused\":[\"breaker\"]"));
            probe(program, "targets.HeapPressure.step", "\"healthy_seconds\":2");
            probe(program, "targets.HeapPressure.step", "\"while_healthy\":true");
            ControlSocket.await(program, status -> status.contains("removed: the application is in trouble"));
            String claims = ControlSocket.ask(program, CLAIMS);
            assertTrue(claims.contains("\"expires\":\"when the application has been healthy for 2 s\""), claims);
            program.ask("release");
            ControlSocket.await(program, status -> status.contains("removed: the application has been healthy for its time"));
            end(program);
        }
    }

    private Dialog start(Jdk jdk, String target, String tables, String... options) throws IOException {
        AgentConfig config = AgentConfig.of(tables);
        return Program.target(jdk, target).with(options).talkWithAgent(tables.contains("[governor]") ? config : config.ungoverned(), directory);
    }

    private static String probe(Dialog program, String methods, String more) {
        return ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"" + methods + "\"," + more + "}");
    }

    private static void kill(String signal, Process process) throws Exception {
        assertEquals(0, new ProcessBuilder("kill", signal, String.valueOf(process.pid())).start().waitFor());
    }

    private static void end(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }
}
