package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.BufferedReader;
import java.io.IOException;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Clients that do not keep to the control protocol, or do not go on: others are answered, and the application does not notice. */
class ControlProtocolIT {

    private static final int CLIENTS = 16;

    @EachJdk(oldestAndNewest = true)
    void wrongAndSilentClientsDisturbNobody(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        List<SocketChannel> silent = new ArrayList<>();
        try (Dialog program = Program.target(jdk, "targets.Conversation")
                .with("-XX:+EnableDynamicAgentLoading")
                .talkWithAgent(AgentConfig.timed("targets.Conversation").ungoverned(), directory)) {
            // More than the agent serves at once, each with half of a request.
            for (int i = 0; i < 10; i++) {
                SocketChannel client = connect(program);
                client.write(StandardCharsets.UTF_8.encode("{\"ask\":"));
                silent.add(client);
            }
            assertTrue(ControlSocket.ask(program, "GET / HTTP/1.1").contains("\"code\":\"malformed\""));
            ControlSocket.await(program, status -> status.contains("agent_version"));
            assertEquals("too-long", code(sendWithoutEnd(program, 2 << 20)));
            askAtOnce(program);
            severalRequestsOnAConnection(program);
            program.ask("work 100");
            ControlSocket.awaitCalls(program, 100);

            // The silent ones do not keep the agent from leaving.
            Tool.instr(List.of("detach", String.valueOf(program.pid()))).assertExitCode(0);
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertEquals("", run.stderr());
        } finally {
            for (SocketChannel client : silent) {
                client.close();
            }
        }
    }

    private static void askAtOnce(Dialog program) throws Exception {
        Callable<String> question = () -> ControlSocket.status(program);
        ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
        try {
            for (Future<String> answer : clients.invokeAll(Collections.nCopies(CLIENTS * 4, question))) {
                String text = answer.get();
                assertTrue(text.contains("agent_version") || "busy".equals(code(text)), text);
            }
        } finally {
            clients.shutdown();
        }
    }

    private static void severalRequestsOnAConnection(Dialog program) throws IOException {
        try (SocketChannel client = connect(program);
                BufferedReader lines = new BufferedReader(Channels.newReader(client, StandardCharsets.UTF_8))) {
            client.write(StandardCharsets.UTF_8.encode("""
                    {"id":"l","ask":"level","methods":"targets.Conversation.step","level":"time"}
                    {"id":2,"ask":"status"}
                    """));
            // Its probes are fixed, so none changes.
            assertTrue(lines.readLine().startsWith("{\"id\":\"l\",\"changed\":"));
            assertTrue(lines.readLine().startsWith("{\"id\":2,\"agent_version\":"));
        }
    }

    private static String sendWithoutEnd(Dialog program, int bytes) throws IOException {
        try (SocketChannel client = connect(program)) {
            ByteBuffer request = ByteBuffer.wrap(new byte[bytes]);
            try {
                while (request.hasRemaining()) {
                    client.write(request);
                }
            } catch (IOException disconnected) {
                // After the longest request; the answer is there all the same.
            }
            ByteBuffer answer = ByteBuffer.allocate(1000);
            client.read(answer);
            return StandardCharsets.UTF_8.decode(answer.flip()).toString();
        }
    }

    private static String code(String refusal) {
        return refusal.replaceAll("(?s).*\"code\":\"([a-z-]+)\".*", "$1");
    }

    private static SocketChannel connect(Dialog program) throws IOException {
        return SocketChannel.open(UnixDomainSocketAddress.of(ControlSocket.path(program)));
    }
}
