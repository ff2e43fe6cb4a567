import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.locks.LockSupport;

/** A method with ten call sites of an empty one. What a call costs while a diagnosis measures them, inside its context and outside. Answers lines. */
public final class Sites {

    /** As many as {@link #root} has. */
    private static final int SITES = 10;
    private static final int ROOTS = 300_000;
    private static final int CLOCKS = 1_000_000;
    private static final long SLOW_NANOS = 10_000_000;
    private static final int ONE_SLOW_IN = 20;

    static volatile long result;
    private static volatile boolean isFed;

    private Sites() {}

    interface Loop {
        long run(int times);
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        // Classes and branches of slow calls are there before anything is measured.
        outer(1, true);
        Thread feeder = new Thread(new Feeder());
        feeder.setDaemon(true);
        feeder.start();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            switch (line) {
                case "measure":
                    System.out.println(measure(rounds));
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
        String[] names = {"outside", "inside", "clock"};
        Loop[] loops = {times -> roots(times, false), times -> outer(times, false), Sites::clocks};
        int[] calls = {ROOTS * SITES, ROOTS * SITES, CLOCKS};
        int[] times = {ROOTS, ROOTS, CLOCKS};
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

    private static double nanos(Loop loop, int times) {
        long start = System.nanoTime();
        result += loop.run(times);
        return System.nanoTime() - start;
    }

    /** The same on two threads at a time. */
    private static double nanosOfBoth(Loop loop, int times) throws InterruptedException {
        long start = System.nanoTime();
        Thread other = new Thread(() -> result += loop.run(times));
        other.start();
        result += loop.run(times);
        other.join();
        return System.nanoTime() - start;
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
    static long outer(int times, boolean isSlow) {
        return roots(times, isSlow);
    }

    private static long roots(int times, boolean isSlow) {
        long sum = 0;
        for (int i = 0; i < times; i++) {
            sum += root(isSlow);
        }
        return sum;
    }

    /** What is diagnosed. A slow call is slow in one of its callees. */
    static long root(boolean isSlow) {
        if (isSlow) {
            wait10ms();
        }
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
        return 1;
    }

    static void callee() {}

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
                    outer(1, number % ONE_SLOW_IN == 0);
                }
                LockSupport.parkNanos(200_000);
            }
        }
    }
}
