package percall;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/** {@code Main plain|clock-pair SECONDS}: prints the CPU nanoseconds of one call, a line for each second measured. */
public final class Main {
    private static final int DEPTH = 9;
    private static final int CALLS_PER_CHAIN = DEPTH + 1;
    private static final int CHAINS_PER_LOOK = 2_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private static long sum;

    public static void main(String[] arguments) {
        Monitored monitored = arguments[0].equals("clock-pair") ? new ClockPair() : new Monitored();
        int seconds = Integer.parseInt(arguments[1]);
        for (int second = 0; second < seconds; second++) {
            nanosOfOneCall(monitored);
        }
        for (int second = 0; second < seconds; second++) {
            System.out.println("NANOS " + nanosOfOneCall(monitored));
        }
        System.out.println("SUM " + sum);
        System.out.flush();
        // Not exit(): what an agent does at the end is not measured here, and takes time.
        Runtime.getRuntime().halt(0);
    }

    private static double nanosOfOneCall(Monitored monitored) {
        long chains = 0;
        long cpu = THREADS.getCurrentThreadCpuTime();
        long end = System.nanoTime() + 1_000_000_000L;
        while (System.nanoTime() < end) {
            for (int i = 0; i < CHAINS_PER_LOOK; i++) {
                sum += monitored.call(DEPTH);
            }
            chains += CHAINS_PER_LOOK;
        }
        cpu = THREADS.getCurrentThreadCpuTime() - cpu;
        return (double) cpu / (chains * CALLS_PER_CHAIN);
    }
}
