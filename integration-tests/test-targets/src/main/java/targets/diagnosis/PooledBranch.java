package targets.diagnosis;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Calls that hand two kinds of tasks to a pool and wait for them; one kind makes some of the calls slow. It measures itself how long the slow tasks take, and answers lines
 * on standard input.
 */
public final class PooledBranch {

    private static final int CALLERS = 2;
    private static final int LATEST = 400;
    private static final ExecutorService POOL = Executors.newFixedThreadPool(4, task -> {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    });
    /** How long the latest lookups took, of each of the methods that are diagnosed. */
    private static final Deque<Long> LOOKUPS = new ArrayDeque<>();
    private static final Deque<Long> OF_STAGES = new ArrayDeque<>();
    private static final Deque<Long> OF_THREADS = new ArrayDeque<>();

    private PooledBranch() {}

    public static void main(String[] arguments) throws Exception {
        // Tests look at all classes.
        serve(true);
        serveStages(true);
        serveThread(true);
        for (int caller = 0; caller < CALLERS; caller++) {
            Thread thread = new Thread(new Caller(caller), "caller " + caller);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            Deque<Long> lookups = line.equals("stages") ? OF_STAGES : line.equals("threads") ? OF_THREADS : LOOKUPS;
            synchronized (lookups) {
                System.out.println(lookups.toString().replaceAll("[^0-9 ]", ""));
            }
        }
    }

    /** The method that is diagnosed. */
    static long serve(boolean isSlow) throws ExecutionException, InterruptedException {
        List<Future<Long>> results = new ArrayList<>();
        results.add(POOL.submit(new Stock()));
        results.add(POOL.submit(new Price(isSlow)));
        return collect(results);
    }

    /** The same by {@code CompletableFuture}. */
    static long serveStages(boolean isSlow) {
        CompletableFuture<Long> price = CompletableFuture.supplyAsync(() -> Price.of(isSlow, OF_STAGES), POOL);
        return price.join();
    }

    /** The same by a thread of its own. */
    static void serveThread(boolean isSlow) throws InterruptedException {
        Thread thread = new Thread(() -> Price.of(isSlow, OF_THREADS));
        thread.start();
        thread.join();
    }

    private static long collect(List<Future<Long>> results) throws ExecutionException, InterruptedException {
        long sum = 0;
        for (Future<Long> result : results) {
            sum += result.get();
        }
        return sum;
    }

    /** A task that is never slow. */
    private static final class Stock implements Callable<Long> {
        @Override
        public Long call() {
            Pauses.park(500_000);
            return 1L;
        }
    }

    /** A task that is slow in some calls. */
    private static final class Price implements Callable<Long> {
        private final boolean isSlow;

        Price(boolean isSlow) {
            this.isSlow = isSlow;
        }

        @Override
        public Long call() {
            return of(isSlow, LOOKUPS);
        }

        static long of(boolean isSlow, Deque<Long> lookups) {
            Pauses.park(200_000);
            return isSlow ? lookup(lookups) : 2L;
        }

        private static long lookup(Deque<Long> lookups) {
            long start = System.nanoTime();
            Pauses.park(40_000_000);
            synchronized (lookups) {
                lookups.add(System.nanoTime() - start);
                if (lookups.size() > LATEST) {
                    lookups.remove();
                }
            }
            return 3L;
        }
    }

    private static final class Caller implements Runnable {
        private final int number;

        Caller(int number) {
            this.number = number;
        }

        @Override
        public void run() {
            for (int i = number; ; i++) {
                try {
                    serve(i % 4 == 0);
                    serveStages(i % 4 == 1);
                    serveThread(i % 4 == 2);
                } catch (ExecutionException | InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }
}
