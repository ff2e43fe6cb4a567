import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;

/**
 * Clients of bench/diagnose: some ask for products, one request after the other or at a fixed rate, and one searches orders, one search in five by their note. For each line on standard input
 * a line of JSON: what has been answered since the last one, by kind.
 */
public final class Load {

    private static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private static final long BETWEEN_SEARCHES_MS = 10;

    private static Map<String, List<Long>> nanos = new TreeMap<>();
    private static int failed;

    private Load() {}

    public static void main(String[] arguments) throws Exception {
        String base = arguments[0];
        int clients = Integer.parseInt(arguments[1]);
        long rate = Long.parseLong(arguments[2]);
        for (int i = 0; i < clients; i++) {
            Random random = new Random(i);
            start(() -> products(base, random, rate == 0 ? 0 : 1_000_000_000L * clients / rate));
        }
        start(() -> orders(base));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            System.out.println(taken());
        }
        System.exit(0);
    }

    private static void start(Runnable loop) {
        Thread thread = new Thread(loop);
        thread.setDaemon(true);
        thread.start();
    }

    /** A request that begins late, because the one before took too long, counts from when it was due. */
    private static void products(String base, Random random, long apartNanos) {
        long due = System.nanoTime();
        while (true) {
            boolean isPage = random.nextInt(4) == 0;
            for (long left = due - System.nanoTime(); apartNanos > 0 && left > 0; left = due - System.nanoTime()) {
                LockSupport.parkNanos(left);
            }
            long start = apartNanos == 0 ? System.nanoTime() : due;
            ask("other", base + (isPage ? "/products?page=" + random.nextInt(20) : "/products/" + (1 + random.nextInt(200))), start);
            due += apartNanos;
        }
    }

    private static void orders(String base) {
        try {
            for (int number = 0; ; number++) {
                boolean isSlow = number % 5 == 0;
                ask(isSlow ? "slow" : "fast", base + "/orders?by=" + (isSlow ? "note" : "customer") + "&value=" + number % 997, System.nanoTime());
                Thread.sleep(BETWEEN_SEARCHES_MS);
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }

    private static void ask(String kind, String address, long start) {
        boolean isRight;
        try {
            HttpResponse<String> answer = CLIENT.send(HttpRequest.newBuilder(URI.create(address)).build(), HttpResponse.BodyHandlers.ofString());
            isRight = answer.statusCode() == 200 && answer.body().length() > 10;
        } catch (Exception e) {
            isRight = false;
        }
        note(kind, System.nanoTime() - start, isRight);
    }

    private static synchronized void note(String kind, long length, boolean isRight) {
        failed += isRight ? 0 : 1;
        nanos.computeIfAbsent(kind, name -> new ArrayList<>()).add(length);
    }

    private static synchronized String taken() {
        StringBuilder text = new StringBuilder("{\"failed\":" + failed);
        nanos.forEach((kind, lengths) -> {
            Collections.sort(lengths);
            double mean = lengths.stream().mapToLong(Long::longValue).average().orElse(0);
            text.append(String.format(Locale.ROOT, ",\"%s\":{\"requests\":%d,\"mean_ms\":%.4f,\"median_ms\":%.4f,\"p99_ms\":%.4f,\"longest_ms\":%.4f}", kind, lengths.size(),
                    mean / 1e6, at(lengths, 0.5), at(lengths, 0.99), at(lengths, 1)));
        });
        nanos = new TreeMap<>();
        failed = 0;
        return text.append('}').toString();
    }

    private static double at(List<Long> sorted, double fraction) {
        return sorted.get((int) Math.min(sorted.size() - 1, fraction * sorted.size())) / 1e6;
    }
}
