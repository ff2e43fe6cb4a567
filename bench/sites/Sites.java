import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/** A method with ten call sites of an empty one. What a call costs while a diagnosis measures them, inside its context and outside. Answers lines. */
public final class Sites {

    /** As many as {@link #root} has. */
    private static final int SITES = 10;
    /** Calls of {@link #root}, each with its sites once; and others, so long that what root itself costs does not count. */
    private static final int ROOTS = 200_000;
    private static final int LONG_ROOTS = 2_000;
    private static final int REPEATS = 100;
    private static final int CLOCKS = 1_000_000;
    private static final long SLOW_NANOS = 10_000_000;
    private static final long LONG_NANOS = 500_000_000;
    private static final int ONE_SLOW_IN = 20;
    private static final int SLOW = 0;
    private static final int LONG_CALLERS = 25;

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    static volatile long result;
    private static volatile boolean isFed;
    private static volatile boolean isLong;

    private Sites() {}

    interface Loop {
        long run(int times);
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        // Classes and branches of slow calls are there before anything is measured.
        outer(1, SLOW);
        Thread feeder = new Thread(new Feeder());
        feeder.setDaemon(true);
        feeder.start();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            switch (line) {
                case "measure":
                    System.out.println(measure(rounds));
                    break;
                case "lengthen":
                    lengthen();
                    System.out.println("ok");
                    break;
                case "feed":
                case "rest":
                    isFed = line.equals("feed");
                    System.out.println("ok");
                    break;
                default:
                    System.out.println("ready");
            }
        }
    }

    private static String measure(int rounds) throws Exception {
        String[] names = {"outside", "inside", "methodOutside", "methodInside", "clock"};
        Loop[] loops = {
            times -> roots(times, REPEATS), times -> outer(times, REPEATS), times -> roots(times, 1), times -> outer(times, 1), Sites::clocks,
        };
        int[] calls = {LONG_ROOTS * REPEATS * SITES, LONG_ROOTS * REPEATS * SITES, ROOTS, ROOTS, CLOCKS};
        int[] times = {LONG_ROOTS, LONG_ROOTS, ROOTS, ROOTS, CLOCKS};
        double[][] alone = new double[loops.length][rounds];
        double[][] together = new double[loops.length][rounds];
        for (int round = -5; round < rounds; round++) {
            for (int at = 0; at < loops.length; at++) {
                double one = nanos(loops[at], times[at]) / calls[at];
                double two = nanosOfBoth(loops[at], times[at]) / calls[at];
                if (round >= 0) {
                    alone[at][round] = one;
                    together[at][round] = two;
                }
            }
        }
        StringBuilder text = new StringBuilder("{");
        for (int at = 0; at < loops.length; at++) {
            text.append(String.format(Locale.ROOT, "%s\"%s\":[%.4f,%.4f,%.4f]", at == 0 ? "" : ",", names[at], least(alone[at]), median(alone[at]), median(together[at])));
        }
        return text.append('}').toString();
    }

    /** Processor time, since others use the machine. */
    private static double nanos(Loop loop, int times) {
        long start = THREADS.getCurrentThreadCpuTime();
        result += loop.run(times);
        return THREADS.getCurrentThreadCpuTime() - start;
    }

    /** The same on two threads at a time. */
    private static double nanosOfBoth(Loop loop, int times) throws InterruptedException {
        double[] nanos = new double[2];
        Thread other = new Thread(() -> nanos[0] = nanos(loop, times));
        other.start();
        nanos[1] = nanos(loop, times);
        other.join();
        return (nanos[0] + nanos[1]) / 2;
    }

    private static double least(double[] values) {
        return Arrays.stream(values).min().orElse(0);
    }

    private static double median(double[] values) {
        double[] sorted = values.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    /** The context of the diagnosis. */
    static long outer(int times, int repeats) {
        return roots(times, repeats);
    }

    private static long roots(int times, int repeats) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += root(repeats);
        }
        return sum;
    }

    /** What is diagnosed. A slow call is slow in one of its callees. */
    static long root(int repeats) {
        if (repeats == SLOW) {
            wait10ms();
        }
        for (int i = 0; i < repeats; i++) {
            callee();
            callee();
            callee();
            callee();
            callee();
            callee();
            callee();
            callee();
            callee();
            callee();
        }
        return 1;
    }

    static void callee() {
        if (isLong) {
            LockSupport.parkNanos(LONG_NANOS);
        }
    }

    /** Some calls of each site that are so long that the diagnosis goes on to measure the short ones. */
    private static void lengthen() throws InterruptedException {
        isLong = true;
        List<Thread> callers = new ArrayList<>();
        for (int i = 0; i < LONG_CALLERS; i++) {
            Thread caller = new Thread(() -> result += outer(1, 1));
            callers.add(caller);
            caller.start();
        }
        for (Thread caller : callers) {
            caller.join();
        }
        isLong = false;
    }

    static void wait10ms() {
        LockSupport.parkNanos(SLOW_NANOS);
    }

    private static long clocks(int times) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += System.nanoTime();
        }
        return sum;
    }

    /** Calls for the diagnosis, of which it learns what is slow. In a class of its own: it never returns. */
    private static final class Feeder implements Runnable {

        @Override
        public void run() {
            for (int number = 1; ; number++) {
                if (isFed) {
                    outer(1, number % ONE_SLOW_IN == 0 ? SLOW : 1);
                }
                LockSupport.parkNanos(200_000);
            }
        }
    }
}
