import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Locale;

/** What anchors and conditional probes cost a call: the same small method with and without them, in turn, in one JVM. */
public final class Contexts {

    private static final int CALLS = 20_000_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static volatile long result;

    private Contexts() {}

    interface Loop {
        long run(int calls);
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        if (arguments.length > 1) {
            byDepth(rounds, Integer.parseInt(arguments[1]), arguments[2].split(","));
            return;
        }
        String[] names = {"plain", "outside", "idleAnchor", "takesPlace", "besides", "nestedAnchor", "inside", "direct"};
        Loop[] loops = {
            Contexts::plain, Contexts::outside, Contexts::idle, Contexts::takes,
            calls -> outer(1, calls), calls -> outer(2, calls), calls -> outer(3, calls), calls -> outer(4, calls),
        };
        double[][] nanos = new double[loops.length][rounds];
        double[][] together = new double[loops.length][rounds];
        for (int round = -3; round < rounds; round++) {
            for (int at = 0; at < loops.length; at++) {
                int calls = names[at].equals("inside") ? CALLS / 20 : names[at].equals("direct") ? CALLS / 100 : CALLS;
                double alone = nanosPerCall(loops[at], calls);
                double both = bothNanos(loops[at], calls);
                if (round >= 0) {
                    nanos[at][round] = alone;
                    together[at][round] = both;
                }
            }
        }
        for (int at = 0; at < loops.length; at++) {
            System.out.printf(Locale.ROOT, "%s %.3f %.3f %.3f%n", names[at], least(nanos[at]), median(nanos[at]), median(together[at]));
        }
    }

    /** The same on stacks of several depths: for each a plain call, and one of a conditional probe inside an anchor, outside its context. */
    private static void byDepth(int rounds, int calls, String[] depths) {
        double[][][] nanos = new double[depths.length][2][rounds];
        for (int round = -3; round < rounds; round++) {
            for (int at = 0; at < depths.length; at++) {
                int depth = Integer.parseInt(depths[at]);
                for (int what = 0; what < 2; what++) {
                    boolean isProbed = what == 1;
                    double one = nanosPerCall(times -> deep(depth, isProbed, times), calls);
                    if (round >= 0) {
                        nanos[at][what][round] = one;
                    }
                }
            }
        }
        for (int at = 0; at < depths.length; at++) {
            System.out.printf(Locale.ROOT, "%s %.3f %.3f%n", depths[at], median(nanos[at][0]), median(nanos[at][1]));
        }
    }

    /** Has an anchor, the outermost one. */
    private static long deep(int depth, boolean isProbed, int calls) {
        return below(depth, isProbed, calls);
    }

    private static long below(int depth, boolean isProbed, int calls) {
        if (depth > 1) {
            return 1 + below(depth - 1, isProbed, calls);
        }
        return isProbed ? outside(calls) : plain(calls);
    }

    /** Processor time, since others use the machine. */
    private static double nanosPerCall(Loop loop, int calls) {
        long start = THREADS.getCurrentThreadCpuTime();
        result += loop.run(calls);
        return (double) (THREADS.getCurrentThreadCpuTime() - start) / calls;
    }

    /** The same on two threads at a time. */
    private static double bothNanos(Loop loop, int calls) throws InterruptedException {
        double[] nanos = new double[2];
        Thread other = new Thread(() -> nanos[0] = nanosPerCall(loop, calls));
        other.start();
        nanos[1] = nanosPerCall(loop, calls);
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

    private static long plain(int calls) {
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += step(sum, i);
        }
        return sum;
    }

    /** Calls of a method with a conditional probe, on a thread that is inside no anchor. */
    private static long outside(int calls) {
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += probed(sum, i);
        }
        return sum;
    }

    /** Calls of a method with an anchor that is not the first of its context, on a thread that is inside no anchor. */
    private static long idle(int calls) {
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += second(sum, i);
        }
        return sum;
    }

    /** Calls of a method with the first anchor of a context. */
    private static long takes(int calls) {
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += first(sum, i);
        }
        return sum;
    }

    /** Has an anchor, the first one. */
    static long outer(int what, int calls) {
        long sum = 0;
        switch (what) {
            case 1:
                // Inside an anchor, but not inside the context.
                for (int i = 0; i < calls; i++) {
                    sum += probed(sum, i);
                }
                return sum;
            case 2:
                for (int i = 0; i < calls; i++) {
                    sum += second(sum, i);
                }
                return sum;
            case 3:
                return inner(calls);
            default:
                return caller(calls);
        }
    }

    /** Has an anchor, the second one. */
    static long inner(int calls) {
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += probed(sum, i);
        }
        return sum;
    }

    /** The same, and its calls are recorded only because it makes them itself. */
    static long caller(int calls) {
        long sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += called(sum, i);
        }
        return sum;
    }

    static long called(long sum, int i) {
        return sum * 31 + i;
    }

    static long step(long sum, int i) {
        return sum * 31 + i;
    }

    static long probed(long sum, int i) {
        return sum * 31 + i;
    }

    static long first(long sum, int i) {
        return sum * 31 + i;
    }

    static long second(long sum, int i) {
        return sum * 31 + i;
    }
}
