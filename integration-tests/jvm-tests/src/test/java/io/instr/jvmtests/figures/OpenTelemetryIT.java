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
import io.instr.jvmtests.jvm.Trace.Call;
import io.instr.jvmtests.telemetry.OtlpReceiver.Point;
import io.instr.jvmtests.telemetry.OtlpReceiver.Span;
import io.instr.jvmtests.telemetry.OtlpReceiver;
import io.instr.jvmtests.telemetry.ProtobufMessage;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** What an OpenTelemetry receiver gets, against what the program did and the trace file says. */
class OpenTelemetryIT {

    private static final String LOAD = "targets.KnownLoad.";
    private static final String FUNCTION = "code.function.name";

    private static Dialog start(Jdk jdk, String url, String level) throws IOException {
        AgentConfig config = AgentConfig.verbatim("""
                [trace]
                file = "trace.jfr"
                [agent]
                stats = "stats.json"
                [governor]
                enabled = false
                [metrics]
                otlp = "%s"
                otlp-traces = true
                trace-threshold = "2 ms"
                interval = "1 s"
                headers = "x-key=secret"
                resource = "deployment.environment.name=test"
                [[rule]]
                class = "targets.KnownLoad"
                method = ["paced", "failing", "recurse", "load"]
                level = "%s"
                """.formatted(url, level));
        Path directory = RunDirectories.create();
        return Program.target(jdk, "targets.KnownLoad").talkWithAgent(config, directory);
    }

    @EachJdk(oldestAndNewest = true)
    void metricsAreThoseOfTheProgram(Jdk jdk) throws IOException {
        try (OtlpReceiver receiver = new OtlpReceiver();
                Dialog program = start(jdk, receiver.url(), "full")) {
            program.ask("fail 777");
            long nanos = Long.parseLong(program.ask("steady 2 5 50").split(" ")[2]);
            // The end of the program waits a few seconds for the receiver and no longer.
            receiver.awaitCalls(LOAD + "paced", 100);
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);

            ProtobufMessage paced = receiver.latest("instr.method.duration", FUNCTION, LOAD + "paced").orElseThrow();
            assertEquals(100, paced.number(4), "count");
            assertEquals(100, paced.message(8).packed(2).stream().mapToLong(Long::longValue).sum(), "in buckets");
            long recorded = run.trace().callsOf(LOAD + "paced").stream().mapToLong(Call::duration).sum();
            assertEquals(recorded / 1e9, paced.real(5), 1e-9, "sum");
            assertTrue(recorded >= 100 * 5_000_000L && recorded <= nanos * 1.0001, recorded + " of " + nanos + " ns around the calls");
            assertTrue(paced.real(12) >= 0.005 && paced.real(13) >= paced.real(12), "min and max");
            assertEquals(run.trace().count(LOAD + "paced"), paced.number(4));
            assertEquals(777, receiver.latest("instr.method.errors", FUNCTION, LOAD + "failing").orElseThrow().number(6));
            assertEquals(0, receiver.latest("instr.method.active", FUNCTION, LOAD + "paced").orElseThrow().number(6));

            Map<String, String> units = new HashMap<>();
            receiver.points().forEach(point -> units.put(point.metric(), point.unit()));
            assertEquals("s", units.get("instr.method.duration"));
            assertEquals("By", units.get("jvm.memory.used"));
            assertEquals("s", units.get("jvm.gc.duration"));
            assertTrue(units.keySet().containsAll(Set.of("jvm.thread.count", "jvm.class.count", "process.cpu.time")), units.toString());

            Map<String, String> resource = receiver.resources().get(0);
            assertEquals("targets.KnownLoad", resource.get("service.name"));
            assertEquals("test", resource.get("deployment.environment.name"));
            assertEquals(Set.of("secret"), Set.copyOf(receiver.keys()));
            assertTrue(receiver.points().stream().map(Point::metric).filter("instr.records.lost"::equals).count() > 0);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void spansAreTheLongCallsWithTheirParents(Jdk jdk) throws IOException {
        try (OtlpReceiver receiver = new OtlpReceiver();
                Dialog program = start(jdk, receiver.url(), "time")) {
            program.ask("recurse 5");
            program.ask("fail 100");
            program.ask("steady 3 5 4");
            // The last call of all, which contains those of the threads, is a span.
            Awaiting.await(receiver::spans, OpenTelemetryIT::haveLoadAroundPacedCalls);
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);

            List<Span> spans = receiver.spans();
            List<Call> longCalls = run.trace().calls().stream().filter(call -> call.duration() >= 2_000_000).toList();
            assertEquals(counts(longCalls.stream().map(Call::name).toList()), counts(names(spans)));
            long failing = names(spans).stream().filter((LOAD + "failing")::equals).count();
            assertTrue(failing < 100, "short calls are no spans, but for one that the machine held up: " + failing);

            Map<String, Span> byId = spans.stream().collect(Collectors.toMap(Span::id, span -> span));
            assertEquals(spans.size(), byId.size(), "every span has an identity of its own");
            Span deepest = spans.stream()
                    .filter(span -> span.attributes().get(FUNCTION).equals(LOAD + "recurse"))
                    .min((one, other) -> Long.compare(one.end() - one.start(), other.end() - other.start()))
                    .orElseThrow();
            int depth = 1;
            Span span = deepest;
            for (Span parent = byId.get(span.parent()); parent != null; parent = byId.get(span.parent())) {
                assertEquals(span.trace(), parent.trace());
                assertTrue(parent.start() <= span.start() && span.end() <= parent.end(), parent + " around " + span);
                span = parent;
                depth++;
            }
            assertEquals(LOAD + "load", span.attributes().get(FUNCTION));
            assertEquals(6, depth, "five recursions within load");
            assertTrue(Math.abs(deepest.end() / 1_000_000 - System.currentTimeMillis()) < 600_000, "the time is the present");
            assertEquals("KnownLoad.recurse", deepest.name());
            assertEquals("main", deepest.attributes().get("thread.name"));
        }
    }

    private static boolean haveLoadAroundPacedCalls(List<Span> spans) {
        List<Span> paced = spans.stream().filter(span -> span.name().equals("KnownLoad.paced")).toList();
        return paced.size() == 12 && spans.stream().anyMatch(span -> span.name().equals("KnownLoad.load")
                && paced.stream().allMatch(call -> span.start() <= call.start() && call.end() <= span.end()));
    }

    /** The names and attributes of OpenTelemetry's semantic conventions. */
    @EachJdk(from = 21)
    void spansOfRequestsAndStatementsFollowTheConventions(Jdk jdk) throws IOException {
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            AgentConfig config = AgentConfig.verbatim("""
                    [metrics]
                    otlp = "%s"
                    otlp-traces = true
                    trace-threshold = "2 ms"
                    interval = "200 ms"
                    [[rule]]
                    preset = "http-server"
                    [[rule]]
                    class = "targets.EveryCategory$Statement"
                    method = "execute"
                    template = "jdbc"
                    level = "time"
                    """.formatted(receiver.url()));
            Path directory = RunDirectories.create();
            try (Dialog program = Program.target(jdk, "targets.EveryCategory").talkWithAgent(config, directory)) {
                program.ask("jakarta 20 1 1");
                program.ask("statement 20 1 1");
                Awaiting.await(receiver::spans, spans -> spans.size() == 2);
                program.send("quit");
                program.finish().assertExitCode(0);
            }
            Map<String, Span> byMethod = receiver.spans().stream()
                    .collect(Collectors.toMap(span -> span.attributes().get(FUNCTION), span -> span));
            Span request = byMethod.get("jakarta.servlet.http.HttpServlet.service");
            assertEquals("PUT /jakarta", request.name());
            assertEquals("PUT", request.attributes().get("http.request.method"));
            assertEquals("/jakarta", request.attributes().get("url.path"));
            assertEquals("http", request.attributes().get("url.scheme"));
            Span statement = byMethod.get("targets.EveryCategory$Statement.execute");
            assertEquals("other_sql", statement.attributes().get("db.system.name"));
            assertEquals("statement * from shop", statement.attributes().get("db.query.text"));
        }
    }

    /** The names of the methods, as {@code Trace} gives them. */
    private static List<String> names(List<Span> spans) {
        return spans.stream().map(span -> span.attributes().get(FUNCTION)).toList();
    }

    private static Map<String, Long> counts(List<String> names) {
        return names.stream().collect(Collectors.groupingBy(name -> name, Collectors.counting()));
    }

    @EachJdk(oldestAndNewest = true)
    void aSilentReceiverHoldsNothingUp(Jdk jdk) throws IOException {
        // Connections are accepted by the kernel, and never answered.
        try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
                Dialog program = start(jdk, "http://127.0.0.1:" + silent.getLocalPort(), "time")) {
            assertEquals("fail 1000", program.ask("fail 1000"));
            program.ask("steady 2 5 300");
            long begun = System.nanoTime();
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            long millis = Duration.ofNanos(System.nanoTime() - begun).toMillis();
            assertTrue(millis < 20_000, "the end took " + millis + " ms");
            assertEquals(1000, run.trace().count(LOAD + "failing"));
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aReceiverThatIsNotThereIsReportedOnce(Jdk jdk) throws IOException {
        try (Socket refusing = new Socket()) {
            // Bound and not listening: no other process can take the port, and connections to it are refused.
            refusing.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            aReceiverThatIsNotThereIsReportedOnce(jdk, "http://127.0.0.1:" + refusing.getLocalPort());
        }
    }

    private static void aReceiverThatIsNotThereIsReportedOnce(Jdk jdk, String url) throws IOException {
        try (Dialog program = start(jdk, url, "time")) {
            ControlSocket.await(program, status -> status.contains("\"failing\":{\"reason\""));
            // Three seconds: further intervals end.
            program.ask("steady 2 5 600");
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertEquals(1, run.stderr().lines().count(), run.stderr());
            assertTrue(run.stderr().contains(url) && run.stderr().contains("figures are dropped while that lasts"), run.stderr());
            assertEquals(1200, run.trace().count(LOAD + "paced"));
        }
    }

    /** The status shows how sending goes, and the log has the beginning and the end of the trouble. */
    @EachJdk(oldestAndNewest = true)
    void aReceiverThatRefusesForAWhileIsReported(Jdk jdk) {
        List<String> messages = OtlpReceiver.inTime(() -> messagesOnARefusal(jdk)).lines().toList();
        assertEquals(2, messages.size(), messages::toString);
        assertTrue(messages.get(0).endsWith("it answers 401; figures are dropped while that lasts"), messages::toString);
        assertTrue(messages.get(1).contains("it takes figures again, after "), messages::toString);
    }

    private static String messagesOnARefusal(Jdk jdk) throws IOException {
        try (OtlpReceiver receiver = new OtlpReceiver();
                Dialog program = start(jdk, receiver.url(), "time")) {
            receiver.answerWith(401);
            String failing = ControlSocket.await(program, status -> status.contains("\"failing\":{\"reason\":\"it answers 401\""));
            assertTrue(failing.contains("\"otlp\":{\"url\":\"" + receiver.url() + "\""), failing);
            receiver.answerWith(200);
            ControlSocket.await(program, status -> status.contains("\"failing\":null"));
            // What is to be said of a request is said before the next one.
            int requests = receiver.keys().size();
            Awaiting.await(() -> receiver.keys().size(), size -> size > requests);
            program.send("quit");
            return program.finish().assertExitCode(0).stderr();
        }
    }
}
