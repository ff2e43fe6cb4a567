package targets;

import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Requests of both clients of the JDK to a server in the same process, which remembers the header {@code traceparent}. */
public final class HttpRequests {

    private static final String INCOMING = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    private static final List<String> HEADERS = new CopyOnWriteArrayList<>();

    private HttpRequests() {}

    /** With an argument, waits for a line of input before it ends, and prints the headers of the requests in the order of the calls. */
    public static void main(String[] arguments) throws Exception {
        ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        Thread serving = new Thread(() -> serve(server));
        serving.setDaemon(true);
        serving.start();
        send("http://127.0.0.1:" + server.getLocalPort());
        if (arguments.length > 0) {
            HEADERS.forEach(System.out::println);
            System.out.println("done");
            System.in.read();
        }
    }

    private static void send(String base) throws Exception {
        System.out.println("read twice " + readTwice(new URL(base + "/url?secret=1")));
        System.out.println("connected first " + connectedFirst(new URL(base + "/connected")));
        System.out.println("posted " + posted(new URL(base + "/posted")));
        System.out.println("missing " + missing(new URL(base + "/missing")));
        System.out.println("refused " + refused());
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpRequest plain = HttpRequest.newBuilder(URI.create(base + "/net?secret=1")).build();
        System.out.println("sent " + client.send(plain, BodyHandlers.ofString()).statusCode());
        HttpRequest own = HttpRequest.newBuilder(URI.create(base + "/own")).header("traceparent", INCOMING).build();
        System.out.println("sent with its own header " + client.send(own, BodyHandlers.ofString()).statusCode());
        System.out.println("sent asynchronously " + client.sendAsync(plain, BodyHandlers.ofString()).get().statusCode());
        HttpServlet relay = new Relay(base);
        relay.service(new Incoming(INCOMING), new Answer());
        relay.service(new Incoming(null), new Answer());
    }

    private static void serve(ServerSocket server) {
        while (true) {
            try (Socket connection = server.accept()) {
                answer(connection);
            } catch (IOException closed) {
                // The client has what it wants.
            }
        }
    }

    private static void answer(Socket connection) throws IOException {
        InputStream in = connection.getInputStream();
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) {
                return;
            }
            head.append((char) next);
        }
        String path = head.substring(head.indexOf(" ") + 1, head.indexOf(" HTTP")).replaceAll("\\?.*", "");
        HEADERS.add(path + " " + header(head, "traceparent"));
        String length = header(head, "content-length");
        in.readNBytes(length == null ? 0 : Integer.parseInt(length));
        String status = path.equals("/missing") ? "404 Not Found" : "200 OK";
        String answer = "HTTP/1.1 " + status + "\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
        connection.getOutputStream().write(answer.getBytes(StandardCharsets.US_ASCII));
    }

    private static String header(CharSequence head, String name) {
        Matcher header = Pattern.compile("(?im)^" + name + ": *(.*?)\\s*$").matcher(head);
        return header.find() ? header.group(1) : null;
    }

    private static String readTwice(URL url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        int status = connection.getResponseCode();
        return status + " " + text(connection) + " " + connection.getHeaderField("content-length") + " " + (connection.getInputStream() != null);
    }

    private static String connectedFirst(URL url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        connection.connect();
        return connection.getResponseCode() + " " + text(connection);
    }

    private static String posted(URL url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        connection.setDoOutput(true);
        connection.getOutputStream().write(new byte[10]);
        return connection.getResponseCode() + " " + text(connection);
    }

    private static String missing(URL url) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
        try {
            return text(connection);
        } catch (FileNotFoundException missing) {
            return connection.getResponseCode() + "";
        }
    }

    private static String refused() throws IOException {
        int closed;
        try (ServerSocket socket = new ServerSocket(0)) {
            closed = socket.getLocalPort();
        }
        try {
            return text((HttpURLConnection) new URL("http://127.0.0.1:" + closed + "/").openConnection());
        } catch (ConnectException refused) {
            return "yes";
        }
    }

    private static String text(HttpURLConnection connection) throws IOException {
        try (InputStream in = connection.getInputStream()) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Answers a request by sending two. */
    static final class Relay extends HttpServlet {

        private final String base;

        Relay(String base) {
            this.base = base;
        }

        @Override
        protected void service(HttpServletRequest request, HttpServletResponse response) {
            try {
                text((HttpURLConnection) new URL(base + request.getRequestURI()).openConnection());
                HttpClient client = HttpClient.newHttpClient();
                client.send(HttpRequest.newBuilder(URI.create(base + request.getRequestURI())).build(), BodyHandlers.discarding());
            } catch (IOException failed) {
                throw new UncheckedIOException(failed);
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }
    }

    static final class Incoming implements HttpServletRequest {

        private final String traceparent;

        Incoming(String traceparent) {
            this.traceparent = traceparent;
        }

        @Override
        public String getMethod() {
            return "GET";
        }

        @Override
        public String getRequestURI() {
            return traceparent == null ? "/begun" : "/continued";
        }

        @Override
        public String getHeader(String name) {
            return name.equals("traceparent") ? traceparent : null;
        }
    }

    static final class Answer implements HttpServletResponse {

        @Override
        public int getStatus() {
            return 200;
        }

        @Override
        public void setStatus(int status) {}
    }
}
