package io.instr.jvmtests.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.telemetry.Certificates;
import io.instr.jvmtests.telemetry.OtlpReceiver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Figures and spans to a receiver with TLS, of which an authority of the test's own making says who it is. */
class OpenTelemetryTlsIT {

    private static final String PACED = "targets.KnownLoad.paced";

    private static Dialog start(Jdk jdk, Path directory, String lines, List<String> launcher) throws IOException {
        AgentConfig config = AgentConfig.verbatim("""
                [trace]
                file = "trace.jfr"
                [metrics]
                otlp-traces = true
                trace-threshold = "2 ms"
                interval = "500 ms"
                %s
                [[rule]]
                class = "targets.KnownLoad"
                method = "paced"
                level = "time"
                """.formatted(lines));
        Program target = Program.target(jdk, "targets.KnownLoad").startedBy(launcher);
        return target.talkWithAgent(config, directory);
    }

    /** Has the program work, and end only after the receiver has what the test expects. */
    private static Finished work(Dialog program, Runnable awaitReceiver) {
        program.ask("steady 2 5 100");
        awaitReceiver.run();
        program.send("quit");
        Finished run = program.finish().assertExitCode(0);
        assertEquals(200, run.trace().count(PACED), run.stderr());
        return run;
    }

    private static Finished workInVain(Dialog program) {
        return work(program, () -> ControlSocket.await(program, status -> status.contains("\"failing\":{\"reason\"")));
    }

    @EachJdk(oldestAndNewest = true)
    void aReceiverOfAKnownAuthorityGetsEverythingWithTheSecretOfTheEnvironment(Jdk jdk) {
        assertEquals("", OtlpReceiver.inTime(() -> messagesWithAKnownAuthority(jdk)));
    }

    private static String messagesWithAKnownAuthority(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (OtlpReceiver receiver = new OtlpReceiver(Certificates.of("ours", directory));
                Dialog program = start(jdk, directory, """
                        otlp = "%s"
                        ca-file = "ours.pem"
                        headers = "x-key=Bearer ${OTLP_TOKEN}"
                        """.formatted(receiver.url()), List.of("/usr/bin/env", "OTLP_TOKEN=s3cret"))) {
            Finished run = work(program, () -> {
                receiver.awaitCalls(PACED, 200);
                Awaiting.await(receiver::spans, spans -> spans.size() == 200);
            });
            assertEquals(Set.of("Bearer s3cret"), Set.copyOf(receiver.keys()));
            assertEquals(200, receiver.latest("instr.method.duration", "code.function.name", PACED).orElseThrow().number(4));
            assertEquals(200, receiver.spans().size());
            return run.stderr();
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aReceiverOfAnotherAuthorityIsReportedOnceAndGetsNothing(Jdk jdk) {
        String stderr = OtlpReceiver.inTime(() -> messagesWithAnotherAuthority(jdk));
        assertEquals(1, stderr.lines().count(), stderr);
        assertTrue(stderr.contains("otlp = \"https://127.0.0.1:") && stderr.contains("signed by nobody who is trusted by ca-file"), stderr);
    }

    private static String messagesWithAnotherAuthority(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Certificates.of("ours", directory);
        try (OtlpReceiver receiver = new OtlpReceiver(Certificates.of("theirs", directory));
                Dialog program = start(jdk, directory, """
                        otlp = "%s"
                        ca-file = "ours.pem"
                        """.formatted(receiver.url()), List.of())) {
            String stderr = workInVain(program).stderr();
            assertEquals(List.of(), receiver.keys());
            return stderr;
        }
    }

    @EachJdk(oldestAndNewest = true)
    void theAuthoritiesOfTheSystemKnowNothingOfOurs(Jdk jdk) {
        String stderr = OtlpReceiver.inTime(() -> messagesWithTheAuthoritiesOfTheSystem(jdk));
        assertEquals(1, stderr.lines().count(), stderr);
        assertTrue(stderr.contains("`ca-file`"), stderr);
    }

    private static String messagesWithTheAuthoritiesOfTheSystem(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (OtlpReceiver receiver = new OtlpReceiver(Certificates.of("ours", directory));
                Dialog program = start(jdk, directory, "otlp = \"%s\"".formatted(receiver.url()), List.of())) {
            String stderr = workInVain(program).stderr();
            assertEquals(List.of(), receiver.keys());
            return stderr;
        }
    }

    @EachJdk(oldestAndNewest = true)
    void missingFilesAndVariablesAreReportedAndTheProgramRuns(Jdk jdk) throws IOException {
        // Nothing is sent, so the port does not matter.
        String url = "https://127.0.0.1:1";
        for (String[] missing : new String[][] {
            {"ca-file = 'nowhere.pem'", "nowhere.pem"}, {"headers = 'authorization=${NOT_THERE}'", "variable NOT_THERE"},
        }) {
            Path directory = RunDirectories.create();
            try (Dialog program = start(jdk, directory, "otlp = '%s'\n%s".formatted(url, missing[0]), List.of())) {
                String stderr = workInVain(program).stderr();
                assertEquals(1, stderr.lines().count(), stderr);
                assertTrue(stderr.contains(missing[1]) && stderr.contains("nothing is sent"), stderr);
            }
        }
    }
}
