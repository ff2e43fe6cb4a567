package targets;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Programs that use known amounts of processor time in known places, for tests of the sampler. How long they take on the
 * clock does not matter: they measure the time that a thread has used themselves, and print it as {@code cpu <thread> <ns>}.
 */
public final class Busy {

    /** Where a result goes that nobody needs. */
    static volatile long sink;

    private static final AtomicLong TOTAL = new AtomicLong();

    private static boolean printed;

    private Busy() {}

    public static void main(String[] arguments) throws Exception {
        int amount = Integer.parseInt(arguments[1]);
        switch (arguments[0]) {
            case "chain":
                chain(amount);
                break;
            case "shares":
                shares(amount);
                break;
            case "crowd":
                crowd(amount);
                break;
            case "unload":
                unload(amount);
                break;
            case "deep":
                deep(amount);
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
        System.out.println("cpu all " + TOTAL.get());
    }

    /** Until this thread has used so many milliseconds for it, apart from the start of the JVM: a calls b calls c. */
    private static void chain(int milliseconds) throws IOException {
        long begin = ownNanos();
        while (ownNanos() - begin < milliseconds * 1_000_000L) {
            a();
        }
        tell();
    }

    private static void a() {
        sink +=
                b(3);
        sink++;
    }

    private static long b(int start) {
        long from = start * 7L;
        long sum = c(from);
        return sum + 1;
    }

    private static long c(long from) {
        if (!printed) {
            printed = true;
            StackTraceElement[] stack = new Throwable().getStackTrace();
            System.out.println("line b " + stack[1].getLineNumber());
            System.out.println("line a " + stack[2].getLineNumber());
            System.out.println("line c " + (stack[0].getLineNumber() + 6));
        }
        long sum = from;
        for (int i = 0; i < 20_000_000; i++) { sum = sum * 31 + (sum >>> 7) + i; }
        return sum;
    }

    /** Two threads: one uses three times as much as the other. */
    private static void shares(int milliseconds) throws Exception {
        Thread large = new Thread(() -> use(3L * milliseconds), "large");
        Thread small = new Thread(() -> use(milliseconds), "small");
        large.start();
        small.start();
        large.join();
        small.join();
        tell();
    }

    private static void use(long milliseconds) {
        while (ownNanos() < milliseconds * 1_000_000L) {
            spin(1_000_000);
        }
        tell();
    }

    private static void spin(int steps) {
        long sum = steps;
        for (int i = 0; i < steps; i++) {
            sum = sum * 31 + (sum >>> 7) + i;
        }
        sink += sum;
    }

    /** Many threads, one after the other, that end soon; prints the growth of memory. */
    private static void crowd(int threads) throws Exception {
        MemoryGrowth growth = new MemoryGrowth();
        for (int i = 1; i <= threads; i++) {
            Thread thread = new Thread(() -> {
                spin(30_000);
                TOTAL.addAndGet(ownNanos());
            });
            thread.start();
            thread.join();
            growth.done(i, threads);
        }
        System.out.println("growth-kb " + growth.leastKilobytes());
        // A compiler's thread may end before the second count.
        int threadsBefore = ownThreads();
        try (var timers = Files.lines(Path.of("/proc/self/timers"))) {
            System.out.println("timers " + timers.filter(line -> line.startsWith("ID:")).count());
        }
        System.out.println("threads " + Math.max(threadsBefore, ownThreads()));
    }

    private static int ownThreads() {
        return Path.of("/proc/self/task").toFile().list().length;
    }

    /** Classes that work and are dropped, while the collector is kept busy. */
    private static void unload(int classes) throws Exception {
        byte[] bytes;
        try (InputStream file = Busy.class.getResourceAsStream("Busy$Dropped.class")) {
            bytes = file.readAllBytes();
        }
        for (int i = 0; i < classes; i++) {
            Class<?> dropped = new ClassLoader(Busy.class.getClassLoader()) {
                Class<?> define() {
                    return defineClass("targets.Busy$Dropped", bytes, 0, bytes.length);
                }
            }.define();
            ((Runnable) dropped.getDeclaredConstructor().newInstance()).run();
            if (i % 20 == 0) {
                System.gc();
            }
        }
        tell();
    }

    /** What each of the dropped loaders defines. */
    public static final class Dropped implements Runnable {
        private long result;

        @Override
        public void run() {
            for (int i = 0; i < 20; i++) {
                result += work(i);
            }
        }

        private static long work(int start) {
            long sum = start;
            for (int i = 0; i < 100_000; i++) {
                sum = sum * 31 + (sum >>> 7) + i;
            }
            return sum;
        }
    }

    /** A stack of 600 frames. */
    private static void deep(int milliseconds) {
        descend(600, milliseconds);
        tell();
    }

    private static void descend(int further, int milliseconds) {
        if (further > 0) {
            descend(further - 1, milliseconds);
        } else {
            while (ownNanos() < milliseconds * 1_000_000L) {
                spin(1_000_000);
            }
        }
        sink++;
    }

    private static void tell() {
        long used = ownNanos();
        TOTAL.addAndGet(used);
        synchronized (System.out) {
            System.out.println("cpu " + Thread.currentThread().getName() + " " + used);
        }
    }

    /** Processor time of this thread. */
    private static long ownNanos() {
        try {
            String line = new String(Files.readAllBytes(Path.of("/proc/thread-self/schedstat")), StandardCharsets.US_ASCII);
            return Long.parseLong(line.substring(0, line.indexOf(' ')));
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
