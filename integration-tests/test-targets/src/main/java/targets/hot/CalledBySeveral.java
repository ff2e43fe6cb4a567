package targets.hot;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A method that uses nearly all processor time and has four callers, which measure themselves what their calls use. They last differently each time: the
 * kernel takes samples at its own ticks, and must not meet their rhythm.
 */
public class CalledBySeveral {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final AtomicLongArray NANOS = new AtomicLongArray(4);
    private static volatile long result;

    public static void main(String[] arguments) {
        Thread worker = new Thread(Worker::work, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        for (String line = lines.nextLine(); !line.equals("quit"); line = lines.nextLine()) System.out.println(line);
        System.out.println(NANOS.get(0) + " " + NANOS.get(1) + " " + NANOS.get(2) + " " + NANOS.get(3));
        System.exit(0);
    }

    static final class Worker {
        static void work() {
            try {
                Method helper = Helper.class.getDeclaredMethod("help", int.class, int.class);
                while (true) {
                    int rounds = ThreadLocalRandom.current().nextInt(50_000, 150_000);
                    direct(50 * rounds);
                    byReflection(helper, 25 * rounds);
                    byLambda(17 * rounds);
                    byRecursion(8 * rounds);
                }
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        private static void direct(int rounds) {
            long start = THREADS.getCurrentThreadCpuTime();
            Helper.help(0, rounds);
            count(0, start);
        }

        private static void byReflection(Method helper, int rounds) throws ReflectiveOperationException {
            long start = THREADS.getCurrentThreadCpuTime();
            helper.invoke(null, 0, rounds);
            count(1, start);
        }

        private static void byLambda(int times) {
            long start = THREADS.getCurrentThreadCpuTime();
            List.of(times).forEach(rounds -> Helper.help(0, rounds));
            count(2, start);
        }

        private static void byRecursion(int rounds) {
            long start = THREADS.getCurrentThreadCpuTime();
            Helper.help(5, rounds);
            count(3, start);
        }

        private static void count(int caller, long start) {
            NANOS.addAndGet(caller, THREADS.getCurrentThreadCpuTime() - start);
        }
    }

    static final class Helper {
        static void nobodyCallsIt() {}

        static void help(int deeper, int rounds) {
            if (deeper > 0) help(deeper - 1, rounds);
            else loop(rounds);
        }

        private static void loop(int rounds) {
            long value = 1;
            for (int i = 0; i < rounds; i++) value = value * 6_364_136_223_846_793_005L + i;
            result = value;
        }
    }
}
