package io.instr.jvmtests.telemetry;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import io.instr.jvmtests.jvm.Awaiting;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** A receiver of OpenTelemetry's protocol that remembers what it was sent. Field numbers are those of opentelemetry-proto. */
public final class OtlpReceiver implements AutoCloseable {

    /** One point of one metric, with the attributes of its series. */
    public record Point(String metric, String unit, Map<String, String> attributes, ProtobufMessage message) {}

    /** One span. */
    public record Span(
            String trace, String id, String parent, String name, long start, long end, Map<String, String> attributes) {}

    private final HttpServer server;
    private final String scheme;
    private final List<Point> points = new ArrayList<>();
    /** Each once: the agent sends again what was not confirmed within seconds, as on a busy machine. */
    private final Set<Span> spans = new LinkedHashSet<>();
    private final List<Map<String, String>> resources = new ArrayList<>();
    private final List<String> keys = new ArrayList<>();
    private volatile int status = 200;

    public OtlpReceiver() {
        this("http", address -> HttpServer.create(address, 0));
    }

    /** With TLS, as who these certificates say. */
    public OtlpReceiver(Certificates certificates) {
        this("https", address -> {
            HttpsServer server = HttpsServer.create(address, 0);
            server.setHttpsConfigurator(new HttpsConfigurator(certificates.ofServer()));
            return server;
        });
    }

    /** Opens a server. */
    private interface Opening {
        HttpServer at(InetSocketAddress address) throws IOException;
    }

    private OtlpReceiver(String scheme, Opening opening) {
        this.scheme = scheme;
        try {
            server = opening.at(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        server.createContext("/v1/metrics", this::metrics);
        server.createContext("/v1/traces", this::traces);
        server.start();
    }

    /**
     * Returns the messages of the first run in which no request took longer than the agent waits: on a busy machine the receiver may be held
     * up for seconds, which the agent rightly reports, too.
     */
    public static String inTime(Callable<String> messages) {
        return Awaiting.await(messages, text -> !text.contains("timeout") && !text.contains("timed out"));
    }

    /** From now on requests are answered with this status. */
    public void answerWith(int status) {
        this.status = status;
    }

    public String url() {
        return scheme + "://127.0.0.1:" + server.getAddress().getPort();
    }

    @Override
    public void close() {
        server.stop(0);
    }

    private void metrics(HttpExchange exchange) throws IOException {
        ProtobufMessage request = read(exchange);
        synchronized (this) {
            request.path(1, 1).forEach(resource -> resources.add(attributes(resource, 1)));
            for (ProtobufMessage metric : request.path(1, 2, 2)) {
                for (int data : new int[] {5, 7, 9, 10}) {
                    for (ProtobufMessage point : metric.path(data, 1)) {
                        int named = data == 9 ? 9 : data == 10 ? 1 : 7;
                        points.add(new Point(metric.string(1), metric.string(3), attributes(point, named), point));
                    }
                }
            }
        }
        exchange.sendResponseHeaders(status, -1);
        exchange.close();
    }

    private void traces(HttpExchange exchange) throws IOException {
        ProtobufMessage request = read(exchange);
        synchronized (this) {
            for (ProtobufMessage span : request.path(1, 2, 2)) {
                HexFormat hex = HexFormat.of();
                spans.add(new Span(hex.formatHex(span.bytes(1)), hex.formatHex(span.bytes(2)), hex.formatHex(span.bytes(4)),
                        span.string(5), span.number(7), span.number(8), attributes(span, 9)));
            }
        }
        exchange.sendResponseHeaders(status, -1);
        exchange.close();
    }

    private synchronized ProtobufMessage read(HttpExchange exchange) throws IOException {
        keys.add(exchange.getRequestHeaders().getFirst("x-key"));
        return ProtobufMessage.parse(exchange.getRequestBody().readAllBytes());
    }

    private static Map<String, String> attributes(ProtobufMessage owner, int field) {
        Map<String, String> attributes = new TreeMap<>();
        for (ProtobufMessage attribute : owner.messages(field)) {
            ProtobufMessage value = attribute.message(2);
            attributes.put(attribute.string(1), value.has(1) ? value.string(1) : Long.toString(value.number(3)));
        }
        return attributes;
    }

    /** The latest point of a metric whose attributes contain this one. */
    public synchronized Optional<ProtobufMessage> latest(String metric, String attribute, String value) {
        return points.stream()
                .filter(point -> point.metric.equals(metric) && value.equals(point.attributes.get(attribute)))
                .map(Point::message)
                .reduce((earlier, later) -> later);
    }

    /** Waits until the figures of a method count this number of calls. */
    public void awaitCalls(String method, long calls) {
        Awaiting.await(() -> latest("instr.method.duration", "code.function.name", method).map(point -> point.number(4)).orElse(0L),
                count -> count == calls);
    }

    public synchronized List<Point> points() {
        return List.copyOf(points);
    }

    public synchronized List<Span> spans() {
        return List.copyOf(spans);
    }

    /** Attributes of the process, by request. */
    public synchronized List<Map<String, String>> resources() {
        return List.copyOf(resources);
    }

    /** Values of the header {@code x-key}, by request. */
    public synchronized List<String> keys() {
        return new ArrayList<>(keys);
    }
}
