package shop;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.util.Objects;
import java.util.Scanner;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Sends requests to {@link Stock}, with both clients of the JDK. */
public class Orders {
    private static final String OWN = "tenant=7;x=1,user=a%20b";
    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final HttpClient FOLLOWING = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).followRedirects(HttpClient.Redirect.ALWAYS).build();
    private static final ExecutorService POOL = Executors.newSingleThreadExecutor(task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });
    /** Of slow and of fast orders, by client. */
    private static final Stock.Lengths[] LENGTHS = {
        new Stock.Lengths(), new Stock.Lengths(), new Stock.Lengths(), new Stock.Lengths()
    };

    private static String port;

    public static void main(String[] arguments) throws Exception {
        port = arguments[0];
        // Tests look at all classes, so they have to be loaded.
        walk(20, "-");
        serveUrl("usual");
        serveNet("usual");
        serveQueue("usual");
        new Traffic();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        for (String line = lines.nextLine(); !line.equals("quit"); line = lines.nextLine()) {
            String[] words = line.split(" ");
            if (words[0].equals("walk")) System.out.println(walk(Integer.parseInt(words[1]), words[2]));
            if (words[0].equals("pooled")) System.out.println("found " + pooled(3) + " " + pooled(0));
            if (words[0].equals("moved")) {
                String address = "http://127.0.0.1:" + port + "/moved";
                System.out.println("found " + order(0, address, null) + " | " + order(5, address, null) + " | " + order(5, address, OWN));
            }
            if (words[0].equals("served")) System.out.println(LENGTHS[0] + " " + LENGTHS[1] + " " + LENGTHS[2] + " " + LENGTHS[3]);
            if (words[0].equals("queue")) {
                start(() -> Traffic.queueForEver(words[1]));
                System.out.println("serving");
            }
            if (words[0].equals("serve")) {
                start(Traffic::serveForEver);
                start(Traffic::askForEver);
                System.out.println("serving");
            }
        }
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    /** Requests in an order and others, to the host that is named and to another name of it, with a header of their own or without one; counts those inside with the entry. */
    private static String walk(int count, String name) throws Exception {
        int inside = 0;
        int carried = 0;
        int wrong = 0;
        for (int i = 0; i < count; i++) {
            boolean isInside = i % 3 != 0;
            String address = "http://" + (i % 7 == 0 ? "localhost:" : "127.0.0.1:") + port + "/baggage";
            String own = i % 4 == 1 ? OWN : null;
            String found = isInside ? order(i % 5, address, own) : request(i % 5, address, own);
            boolean carries = isInside && i % 7 != 0 && !name.equals("-");
            String expected = carries ? "instr=" + name + (own == null ? "" : "," + own) : own;
            if (isInside) inside++;
            if (carries) carried++;
            if (!Objects.equals(found, expected == null ? "" : expected)) wrong++;
        }
        return "inside " + inside + " carried " + carried + " wrong " + wrong;
    }

    public static String order(int way, String address, String own) throws Exception {
        return request(way, address, own);
    }

    /** A thread of a pool sends the request. */
    public static String pooled(int way) throws Exception {
        return POOL.submit(() -> request(way, "http://127.0.0.1:" + port + "/baggage", null)).get();
    }

    public static String request(int way, String address, String own) throws Exception {
        if (way < 3) return byUrl(way, address, own);
        return way == 5 ? byClient(FOLLOWING, true, address, own) : byClient(CLIENT, way == 3, address, own);
    }

    private static String byUrl(int way, String address, String own) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) new URL(address).openConnection();
        if (own != null) connection.setRequestProperty("baggage", own);
        if (way == 1) connection.connect();
        if (way == 2) {
            connection.setDoOutput(true);
            connection.getOutputStream().write(new byte[10]);
        }
        if (connection.getResponseCode() != 200) throw new IOException("status " + connection.getResponseCode());
        return new String(connection.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    }

    private static String byClient(HttpClient client, boolean waits, String address, String own) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(address));
        if (own != null) request.header("Baggage", own);
        if (waits) return client.send(request.build(), BodyHandlers.ofString()).body();
        return client.sendAsync(request.build(), BodyHandlers.ofString()).join().body();
    }

    private static void ask(String address) {
        try {
            byUrl(0, address, null);
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void serveUrl(String item) {
        check(item);
        ask("http://127.0.0.1:" + port + "/stock?item=" + item);
    }

    /** A part of the time of some items is spent before a servlet gets the request. */
    public static void serveQueue(String item) {
        check(item);
        ask("http://127.0.0.1:" + port + "/stock?item=" + item);
    }

    public static void serveNet(String item) {
        check(item);
        send("http://127.0.0.1:" + port + "/stock?item=" + item);
    }

    private static void send(String address) {
        try {
            byClient(CLIENT, true, address, null);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void check(String item) {
        if (item.isEmpty()) throw new IllegalArgumentException();
    }

    /** Loops that do not return: in a class of their own, as such a class is not changed while they run. */
    private static final class Traffic {
        static void serveForEver() {
            for (int i = 0; ; i++) {
                String item = i % 4 == 0 ? "rare" : "usual";
                long start = System.nanoTime();
                serveUrl(item);
                long between = System.nanoTime();
                serveNet(item);
                long end = System.nanoTime();
                LENGTHS[i % 4 == 0 ? 0 : 1].add(between - start);
                LENGTHS[i % 4 == 0 ? 2 : 3].add(end - between);
            }
        }

        static void queueForEver(String slow) {
            for (int i = 0; ; i++) serveQueue(i % 4 == 0 ? slow : "usual");
        }

        /** What is outside of all orders is slow for a reason of its own. */
        static void askForEver() {
            while (true) ask("http://127.0.0.1:" + port + "/stock?item=old");
        }
    }
}
