package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import io.instr.jvmtests.telemetry.OtlpReceiver.Span;
import io.instr.jvmtests.telemetry.OtlpReceiver;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Requests that the JDK's clients send: as calls, as spans, and as a part of traces over several processes. */
class HttpClientIT {

    private static final String TARGET = "targets.HttpRequests";
    private static final String URL_CONNECTION = "sun.net.www.protocol.http.HttpURLConnection.getInputStream0";
    private static final String CLIENT = "jdk.internal.net.http.HttpClientImpl.";

    @EachJdk
    void eachRequestIsOneCallAndNothingIsSentThatTheApplicationDoesNotSend(Jdk jdk) {
        Finished run = Program.target(jdk, TARGET).with("-Xverify:all").compare(AgentConfig.of("""
                [[rule]]
                preset = "http-client"
                [[rule]]
                preset = "http-server"
                """).ungoverned());
        // Five connections and those of the two relayed requests; an answer that is read again is no request.
        assertEquals(7, run.trace().count(URL_CONNECTION));
        assertEquals(4, run.trace().count(CLIENT + "send"));
        assertEquals(0, run.stats().refused().values().stream().mapToLong(Long::longValue).sum(), () -> run.stats() + "");
    }

    /** With live probes, as the governor needs them. */
    @EachJdk
    void spansHaveTheIdsThatRequestsTakeAlong(Jdk jdk) throws IOException {
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            Path directory = RunDirectories.create();
            Files.writeString(directory.resolve("instr.toml"), traced(receiver, """
                    [[rule]]
                    preset = "http-server"
                    [[rule]]
                    preset = "http-client"
                    propagate = true
                    """));
            List<String> headers = new ArrayList<>();
            try (Dialog program = Program.target(jdk, TARGET, "talk").talk(List.of(Program.agentOption("instr.toml")), directory)) {
                for (String line = program.next(); !line.equals("done"); line = program.next()) {
                    headers.add(line);
                }
                program.send("end");
                program.finish().assertExitCode(0);
            }
            headers.removeIf(line -> !line.startsWith("/"));
            assertEquals(11, headers.size(), headers::toString);
            // Those that carry or continue a trace are spans however short; the one with the application's own header is not among them.
            Map<String, Span> spans = Awaiting.await(() -> byId(receiver), found -> found.size() >= 13);
            spans.values().removeIf(span -> span.attributes().getOrDefault("url.full", "").endsWith("/own"));
            for (String header : headers) {
                String[] fields = header.split("[ -]");
                if (header.startsWith("/own")) {
                    assertTrue(header.endsWith("-b7ad6b7169203331-01"), header + ": the application's own header is sent");
                    continue;
                }
                Span span = spans.get(fields[3]);
                assertTrue(span != null, () -> header + " has no span in " + spans);
                assertEquals(fields[2], span.trace(), header);
                String url = span.attributes().get("url.full");
                assertTrue(url.startsWith("http://127.0.0.1:") && url.endsWith(fields[0]), () -> "without the query: " + url);
            }
            assertStatuses(spans);
            assertRelayed(headers, spans);
        }
    }

    private static void assertStatuses(Map<String, Span> spans) {
        Map<String, Long> statuses = spans.values().stream()
                .filter(span -> span.attributes().containsKey("url.full"))
                .collect(Collectors.groupingBy(
                        span -> span.attributes().getOrDefault("http.response.status_code", span.attributes().getOrDefault("error.type", "none")),
                        Collectors.counting()));
        assertEquals(Map.of("200", 8L, "404", 1L, "java.net.ConnectException", 1L, "none", 1L), statuses);
    }

    /** What is sent for a request belongs to its trace, whether the request came with one or not. */
    private static void assertRelayed(List<String> headers, Map<String, Span> spans) {
        for (String path : List.of("/continued", "/begun")) {
            Span answered = spans.values().stream().filter(span -> path.equals(span.attributes().get("url.path"))).findFirst().orElseThrow();
            List<Span> sent = headers.stream().filter(line -> line.startsWith(path + " ")).map(line -> spans.get(line.split("-")[2])).toList();
            assertEquals(2, sent.size());
            for (Span span : sent) {
                assertEquals(answered.trace(), span.trace(), path);
                assertEquals(answered.id(), span.parent(), path);
            }
            if (path.equals("/continued")) {
                assertEquals("0af7651916cd43dd8448eb211c80319c/b7ad6b7169203331", answered.trace() + "/" + answered.parent());
            } else {
                assertEquals("", answered.parent());
            }
        }
    }

    /** Spring Boot on one JVM, its client on another. */
    @EachJdk(from = 17, oldestAndNewest = true)
    void aCallOverTwoJvmsIsOneTrace(Jdk jdk) throws Exception {
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            Path directory = RunDirectories.create();
            Files.writeString(directory.resolve("instr.toml"), traced(receiver, """
                    [[rule]]
                    preset = "http-server"
                    [[rule]]
                    preset = "spring-mvc"
                    [governor]
                    enabled = false
                    """));
            Finished server;
            Finished client;
            try (Dialog dialog = application(jdk, "serve").talk(List.of(Program.agentOption("instr.toml")), directory)) {
                String port = dialog.next().replace("READY ", "");
                AgentConfig config = AgentConfig.verbatim(traced(receiver, """
                        [[rule]]
                        preset = "http-client"
                        propagate = true
                        [[rule]]
                        class = "library.LoadClient"
                        method = "send(*, *)"
                        level = "time"
                        """));
                client = application(jdk, "load", port, "1").withAgent(config).assertExitCode(0);
                dialog.terminate();
                server = dialog.finish();
            }
            assertEquals("", server.stderr(), "standard error of the server");
            List<Span> sent = of(receiver, span -> span.attributes().containsKey("url.full"));
            assertEquals(25, sent.size(), () -> "requests of the client: " + client.stdout());
            List<Span> answered = Awaiting.await(
                    () -> of(receiver, span -> span.attributes().containsKey("url.path") && !span.attributes().get("url.path").equals("/error")),
                    found -> found.size() >= 25);
            Map<String, Span> all = byId(receiver);
            for (Span request : answered) {
                Span cause = all.get(request.parent());
                assertTrue(cause != null && cause.trace().equals(request.trace()), () -> request + " is not below a request in " + sent);
                assertTrue(cause.attributes().get("url.full").endsWith(request.attributes().get("url.path")), () -> cause + " above " + request);
            }
            // The first request takes long, and so does the method around it: that is in the same picture.
            Span first = all.get(answered.stream().min((a, b) -> Long.compare(a.start(), b.start())).orElseThrow().parent());
            Span method = all.get(first.parent());
            assertEquals("library.LoadClient.send", method.attributes().get("code.function.name"));
            assertEquals(first.trace(), method.trace());
            assertHandlers(server.trace());
        }
    }

    /** The preset of Spring MVC: handlers and exception handlers of the application. */
    private static void assertHandlers(Trace trace) {
        Map<String, Long> expected = Map.of(
                "library.lending.LendingController.join", 1L, "library.lending.LendingController.lend", 6L,
                "library.lending.LendingController.takeBack", 1L, "library.lending.LendingController.member", 1L);
        expected.forEach((handler, calls) -> assertEquals(calls, trace.count(handler), handler));
        assertTrue(trace.calls().stream().anyMatch(call -> call.name().startsWith("org.springframework.web.servlet.resource.")
                && call.name().endsWith(".handleRequest")), "the page that does not exist is looked for by a handler without annotations");
    }

    private static String traced(OtlpReceiver receiver, String rules) {
        return """
                [trace]
                file = "trace.jfr"
                [filter]
                leaf = false
                max-bytes = 0
                [metrics]
                otlp = "%s"
                otlp-traces = true
                trace-threshold = "1 ms"
                interval = "1 s"
                """.formatted(receiver.url()) + rules;
    }

    private static Map<String, Span> byId(OtlpReceiver receiver) {
        return receiver.spans().stream().collect(Collectors.toMap(Span::id, Function.identity(), (one, same) -> one, HashMap::new));
    }

    private static List<Span> of(OtlpReceiver receiver, Predicate<Span> wanted) {
        return receiver.spans().stream().filter(wanted).toList();
    }

    private static Program application(Jdk jdk, String... arguments) {
        List<String> command = new ArrayList<>(List.of("-jar", BuildResult.SAMPLE_WEBAPP.path().toString()));
        command.addAll(List.of(arguments));
        return Program.of(jdk, List.of("-Xmx512m"), command);
    }
}
