import demo.Main;
import java.io.BufferedInputStream;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.web.servlet.context.ServletWebServerApplicationContext;

/**
 * The application of ../shared/apps/springboot in this process, asked by two clients over sockets. For each line {@code REQUESTS RATE}
 * of the standard input so many requests, at that rate a second or, for 0, as fast as they go; then the nanoseconds of each, from the
 * moment at which it was due to its complete answer.
 */
public final class WebLoad {

    private static final int CLIENTS = 2;
    private static final int ITEMS = 40;

    private WebLoad() {}

    public static void main(String[] arguments) throws Exception {
        SpringApplication application = new SpringApplication(Main.class);
        application.setDefaultProperties(Map.of("server.port", "0", "server.address", "127.0.0.1", "spring.datasource.url",
                "jdbc:h2:mem:s;DB_CLOSE_DELAY=-1", "spring.jpa.hibernate.ddl-auto", "create", "logging.level.root", "WARN",
                "spring.main.banner-mode", "off", "spring.jpa.open-in-view", "false", "server.tomcat.threads.max", "8",
                "server.tomcat.max-keep-alive-requests", "-1"));
        ServletWebServerApplicationContext context = (ServletWebServerApplicationContext) application.run();
        int port = context.getWebServer().getPort();
        Main.Items items = context.getBean(Main.Items.class);
        for (long i = 0; i < ITEMS; i++) {
            Main.Item item = new Main.Item();
            item.id = i;
            item.name = "item " + i;
            items.save(item);
        }
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            String[] words = order.split(" ");
            long[] nanos = load(port, Integer.parseInt(words[0]), Double.parseDouble(words[1]));
            System.out.println(Arrays.stream(nanos).mapToObj(Long::toString).collect(Collectors.joining(" ", "DONE " + nanos.length + " ", "")));
            System.out.flush();
        }
        context.close();
        System.exit(0);
    }

    /** Times of so many requests, shared among the clients. */
    private static long[] load(int port, int requests, double rate) throws Exception {
        ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
        List<Future<long[]>> parts = new ArrayList<>();
        long begin = System.nanoTime();
        for (int client = 0; client < CLIENTS; client++) {
            int number = client;
            Callable<long[]> part = () -> new Client(port, number).ask(requests / CLIENTS, rate / CLIENTS, begin);
            parts.add(clients.submit(part));
        }
        long[] all = new long[requests / CLIENTS * CLIENTS];
        int at = 0;
        for (Future<long[]> part : parts) {
            long[] nanos = part.get();
            System.arraycopy(nanos, 0, all, at, nanos.length);
            at += nanos.length;
        }
        clients.shutdown();
        return all;
    }

    /** One connection that stays open. It takes as little of the processor as it can: what it takes counts. */
    private static final class Client {
        private final Socket socket;
        private final InputStream in;
        private final int number;
        private final byte[] buffer = new byte[1 << 16];

        Client(int port, int number) throws IOException {
            socket = new Socket("127.0.0.1", port);
            socket.setTcpNoDelay(true);
            in = new BufferedInputStream(socket.getInputStream(), 1 << 16);
            this.number = number;
        }

        long[] ask(int requests, double rate, long begin) throws IOException {
            long[] nanos = new long[requests];
            try (Socket closed = socket) {
                for (int i = 0; i < requests; i++) {
                    long due = rate == 0 ? System.nanoTime() : begin + (long) (i * 1e9 / rate);
                    for (long now = System.nanoTime(); now < due; now = System.nanoTime()) {
                        LockSupport.parkNanos(due - now);
                    }
                    ask(i);
                    nanos[i] = System.nanoTime() - due;
                }
            }
            return nanos;
        }

        /** One in ten changes something, one in fifty is a page of all items; no two clients change the same item. */
        private void ask(int i) throws IOException {
            int item = i * 7 % (ITEMS / CLIENTS) * CLIENTS + number;
            if (i % 50 == 49) {
                send("GET", "/api/over/-1000000");
            } else if (i % 10 == 3) {
                send("POST", "/api/item/" + item + "/move?seq=" + i + "&d=" + i % 11);
            } else {
                send("GET", "/api/item/" + item);
            }
        }

        private void send(String method, String path) throws IOException {
            String head = method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n" + (method.equals("POST") ? "Content-Length: 0\r\n" : "") + "\r\n";
            socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
            String status = line();
            if (!status.contains(" 200")) {
                throw new IOException(path + ": " + status);
            }
            int length = 0;
            for (String header = line(); !header.isEmpty(); header = line()) {
                String lower = header.toLowerCase();
                if (lower.startsWith("content-length:")) {
                    length = Integer.parseInt(header.substring(15).trim());
                } else if (lower.startsWith("transfer-encoding:")) {
                    length = -1;
                }
            }
            if (length >= 0) {
                in.readNBytes(buffer, 0, length);
                return;
            }
            for (int chunk = Integer.parseInt(line(), 16); ; chunk = Integer.parseInt(line(), 16)) {
                in.skipNBytes(chunk);
                line();
                if (chunk == 0) {
                    return;
                }
            }
        }

        private String line() throws IOException {
            int length = 0;
            for (int next = in.read(); next != '\n'; next = in.read()) {
                if (next < 0) {
                    throw new IOException("the server closed the connection");
                }
                buffer[length++] = (byte) next;
            }
            return new String(buffer, 0, Math.max(length - 1, 0), StandardCharsets.US_ASCII);
        }
    }
}
