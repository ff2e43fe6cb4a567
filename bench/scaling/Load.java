import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Chains of ten monitored calls on one thread or many, between which a thread works on its own: {@code Load BODY WORK
 * ALLOCATED RATE LENGTH THREADS...}. BODY is plain or clock-pair, WORK is the number of steps between two chains, ALLOCATED the
 * bytes that each chain leaves to the collector, RATE the calls a second of all threads together (0: as many as there can be; virtual
 * threads always do as many, as they have no more carriers than there are processors), LENGTH is {@code 2s} or a number of calls,
 * THREADS is 8 or v10000 (virtual). Prints a line for each number of threads: its calls, and the processor time of the threads by their names,
 * as the operating system counts it.
 */
public final class Load {

    private static final int CALLS_OF_A_CHAIN = 10;
    private static final int CHAINS_OF_A_LOOK = 100;
    private static final long LONG_WAIT_NANOS = 30_000_000;
    private static volatile boolean running;
    private static volatile long sink;

    private Load() {}

    public static void main(String[] arguments) throws Exception {
        Shape shape = new Shape(arguments);
        boolean isTimed = arguments[4].endsWith("s");
        double seconds = isTimed ? Double.parseDouble(arguments[4].replace("s", "")) : 1;
        long calls = isTimed ? Long.MAX_VALUE : Long.parseLong(arguments[4]);
        // Compiled once for all, by as many threads as there are processors.
        phase("warm", shape, "2", Math.max(seconds, 1), Long.MAX_VALUE);
        for (int i = 5; i < arguments.length; i++) {
            phase("PHASE", shape, arguments[i], seconds, calls);
        }
    }

    private static void phase(String word, Shape shape, String threads, double seconds, long calls) throws Exception {
        boolean isVirtual = threads.startsWith("v");
        int count = Integer.parseInt(isVirtual ? threads.substring(1) : threads);
        CountDownLatch ready = new CountDownLatch(count);
        CountDownLatch start = new CountDownLatch(1);
        CountDownLatch finished = new CountDownLatch(count);
        CountDownLatch end = new CountDownLatch(1);
        AtomicLong chains = new AtomicLong();
        long chainsOfOne = calls == Long.MAX_VALUE ? Long.MAX_VALUE : calls / CALLS_OF_A_CHAIN / count;
        running = true;
        List<Thread> started = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            started.add(start(isVirtual, "load-" + i, () -> {
                ready.countDown();
                await(start);
                chains.addAndGet(shape.work(isVirtual, chainsOfOne, count));
                finished.countDown();
                // Until the figures are read: those of a thread go with it.
                await(end);
            }));
        }
        ready.await();
        Map<String, Long> before = processorTimes();
        long begin = System.nanoTime();
        start.countDown();
        if (calls == Long.MAX_VALUE) {
            Thread.sleep((long) (seconds * 1000));
            running = false;
        }
        finished.await();
        long wall = System.nanoTime() - begin;
        Map<String, Long> after = atRest();
        end.countDown();
        for (Thread thread : started) {
            thread.join();
        }
        StringBuilder line = new StringBuilder(word + " threads=" + threads + " calls=" + chains.get() * CALLS_OF_A_CHAIN + " wall=" + wall);
        after.forEach((name, nanos) -> line.append(" ").append(name).append("=").append(nanos - before.getOrDefault(name, 0L)));
        System.out.println(line);
    }

    private static Thread start(boolean isVirtual, String name, Runnable body) throws Exception {
        if (!isVirtual) {
            Thread thread = new Thread(body, name);
            thread.start();
            return thread;
        }
        // By reflection: compiled for JDK 11 as well.
        Method starter = Thread.class.getMethod("startVirtualThread", Runnable.class);
        return (Thread) starter.invoke(null, body);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The figures when the workers have come to rest: those of a thread that runs are some milliseconds old. */
    private static Map<String, Long> atRest() throws Exception {
        Map<String, Long> times = processorTimes();
        while (true) {
            Thread.sleep(5);
            Map<String, Long> now = processorTimes();
            if (now.get("workers").equals(times.get("workers"))) {
                return now;
            }
            times = now;
        }
    }

    /** Nanoseconds on a processor by kind of thread. */
    private static Map<String, Long> processorTimes() throws IOException {
        Map<String, Long> times = new TreeMap<>();
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Path.of("/proc/self/task"))) {
            for (Path task : tasks) {
                try {
                    String name = new String(Files.readAllBytes(task.resolve("comm")), StandardCharsets.UTF_8).trim();
                    String figures = new String(Files.readAllBytes(task.resolve("schedstat")), StandardCharsets.UTF_8);
                    times.merge(kind(name), Long.parseLong(figures.split(" ")[0]), Long::sum);
                } catch (IOException gone) {
                    continue;
                }
            }
        }
        return times;
    }

    private static String kind(String name) {
        if (name.startsWith("load-") || name.startsWith("ForkJoinPool")) {
            return "workers";
        }
        return name.startsWith("instr-") ? name : "others";
    }

    /** What each thread does. */
    private static final class Shape {
        private final boolean isPair;
        private final int steps;
        private final int allocated;
        private final double rate;

        Shape(String[] arguments) {
            isPair = arguments[0].equals("clock-pair");
            steps = Integer.parseInt(arguments[1]);
            allocated = Integer.parseInt(arguments[2]);
            rate = Double.parseDouble(arguments[3]);
        }

        /** Runs chains until it is stopped or {@code most} have run; returns the number of chains. */
        long work(boolean isVirtual, long most, int threads) {
            long begin = System.nanoTime();
            Monitored monitored = isPair ? new ClockPair() : new Monitored();
            Object[] kept = new Object[64];
            long sum = 0;
            long chains = 0;
            while (running && chains < most) {
                int look = (int) Math.min(CHAINS_OF_A_LOOK, most - chains);
                for (int i = 0; i < look; i++) {
                    sum += monitored.call(CALLS_OF_A_CHAIN - 1);
                    sum += spin(sum, steps);
                    if (allocated > 0) {
                        kept[i % kept.length] = new byte[allocated];
                    }
                }
                chains += look;
                if (isVirtual) {
                    Thread.yield();
                } else if (rate > 0) {
                    waitUntil(begin + (long) (chains * CALLS_OF_A_CHAIN * 1e9 * threads / rate));
                }
            }
            sink += sum + kept.length;
            return chains;
        }

        /** Seldom and long: each wait costs the calls after it some of what the caches held. */
        private static void waitUntil(long due) {
            if (due - System.nanoTime() < LONG_WAIT_NANOS) {
                return;
            }
            for (long now = System.nanoTime(); now < due && running; now = System.nanoTime()) {
                LockSupport.parkNanos(due - now);
            }
        }

        private static long spin(long seed, int steps) {
            long x = seed | 1;
            for (int i = 0; i < steps; i++) {
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
            }
            return x;
        }
    }

    /** The class with the method that is monitored; one step of a sequence, so that calls cannot be folded together. */
    static class Monitored {
        long state = System.nanoTime() | 1;

        long call(int depth) {
            long x = state;
            x ^= x << 13;
            x ^= x >>> 7;
            x ^= x << 17;
            state = x;
            return depth == 0 ? x : call(depth - 1) ^ depth;
        }
    }

    /** The same with two clock readings by hand. */
    static final class ClockPair extends Monitored {
        private long spent;

        @Override
        long call(int depth) {
            long start = System.nanoTime();
            try {
                long x = state;
                x ^= x << 13;
                x ^= x >>> 7;
                x ^= x << 17;
                state = x;
                return depth == 0 ? x : call(depth - 1) ^ depth;
            } finally {
                spent += System.nanoTime() - start;
            }
        }
    }
}
