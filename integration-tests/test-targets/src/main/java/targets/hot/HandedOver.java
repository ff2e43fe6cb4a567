package targets.hot;

import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Work that other threads are given: of ten tasks {@code often} hands over seven, {@code seldom} two and {@code once} one, all on behalf of {@code round}; those of {@code once} take longest. The argument
 * says by what: a pool, stages of futures, threads of their own, virtual threads, or tasks that fork others. It counts how often and for how long tasks of each ran.
 */
public class HandedOver {
    private static final int OFTEN = 7;
    private static final int SELDOM = 2;
    private static final long SHORT = 60_000L;
    private static final long LONG = 250_000L;
    private static final int LONGEST = 3;
    private static final int THREADS = 2;
    /** Tasks that ran, and their nanoseconds, of each of the three; then parts of tasks that ran, but not within others. */
    private static final AtomicLongArray COUNTED = new AtomicLongArray(9);
    private static final int OF_PARTS = 6;
    private static volatile Handing handing;

    public static void main(String[] arguments) {
        handing = of(arguments[0]);
        Thread worker = new Thread(Worker::work, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        while (!lines.nextLine().equals("quit")) {
            System.out.println(COUNTED.toString().replaceAll("[\\[\\],]", ""));
        }
        System.exit(0);
    }

    /** How a task gets to another thread. */
    interface Handing {
        Future<?> handOver(Job job) throws Exception;
    }

    private static Handing of(String kind) {
        switch (kind) {
            case "pool": {
                ExecutorService pool = Executors.newFixedThreadPool(THREADS);
                return job -> pool.submit(job);
            }
            case "future":
                return job -> CompletableFuture.runAsync(job);
            case "stage":
                return job -> CompletableFuture.completedFuture(job).thenAcceptAsync(Job::run);
            case "thread":
                return job -> {
                    FutureTask<Void> task = new FutureTask<>(job, null);
                    new Thread(task).start();
                    return task;
                };
            case "virtual":
                return virtual();
            case "fork": {
                ForkJoinPool pool = new ForkJoinPool(THREADS);
                return job -> pool.submit(new Parts(job));
            }
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    /** This class is compiled for a JDK that has none. */
    private static Handing virtual() {
        try {
            ExecutorService perTask = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
            return job -> perTask.submit(job);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** A class of its own: one whose frame stays is not changed. */
    static final class Worker {
        static void work() {
            while (true) Rounds.round();
        }
    }

    static final class Rounds {
        static void round() {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < OFTEN; i++) all.add(often());
            for (int i = 0; i < SELDOM; i++) all.add(seldom());
            all.add(once());
            try {
                for (Future<?> one : all) one.get();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        private static Future<?> often() {
            return given(new Job(0, SHORT));
        }

        private static Future<?> seldom() {
            return given(new Job(1, LONG));
        }

        private static Future<?> once() {
            return given(new Job(2, LONGEST * LONG));
        }
    }

    private static Future<?> given(Job job) {
        try {
            return handing.handOver(job);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    /** A task. */
    static final class Job implements Runnable {
        private final int of;
        private final long nanos;

        Job(int of, long nanos) {
            this.of = of;
            this.nanos = nanos;
        }

        @Override
        public void run() {
            long begin = System.nanoTime();
            Burning.burn(nanos);
            COUNTED.incrementAndGet(2 * of);
            COUNTED.addAndGet(2 * of + 1, System.nanoTime() - begin);
        }
    }

    static final class Burning {
        static long burn(long nanos) {
            long begin = System.nanoTime();
            long turns = 0;
            while (System.nanoTime() - begin < nanos) turns++;
            return turns;
        }
    }

    /** A task in two parts, of which one is forked. */
    static final class Parts extends RecursiveAction {
        /** A thread that waits for a part may run it, or another one. */
        private static final ThreadLocal<Integer> RUNNING = ThreadLocal.withInitial(() -> 0);
        private final transient Job job;
        private final boolean isPart;

        Parts(Job job) {
            this(job, false);
        }

        private Parts(Job job, boolean isPart) {
            this.job = job;
            this.isPart = isPart;
        }

        @Override
        protected void compute() {
            if (RUNNING.get() == 0) COUNTED.incrementAndGet(OF_PARTS + job.of);
            RUNNING.set(RUNNING.get() + 1);
            if (isPart) job.run();
            else twoParts();
            RUNNING.set(RUNNING.get() - 1);
        }

        private void twoParts() {
            Parts half = new Parts(new Job(job.of, job.nanos / 2), true);
            half.fork();
            new Job(job.of, job.nanos / 2).run();
            half.join();
        }
    }
}
