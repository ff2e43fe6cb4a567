package targets.hot;

import java.lang.management.ManagementFactory;
import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Methods that use processor time, memory and monitors in known proportions, as long as a line asks for it. */
public class HotMethods {
    private static final Object MONITOR = new Object();
    private static final AtomicLong IN_HEAVY = new AtomicLong();
    private static final AtomicLong IN_LIGHT = new AtomicLong();
    private static volatile Object sink;
    private static volatile long result;

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        for (String line = lines.nextLine(); !line.equals("quit"); line = lines.nextLine()) {
            if (line.equals("burn")) start("burner", Burner::burn);
            if (line.equals("allocate")) start("allocator", Allocator::allocate);
            if (line.equals("wait")) {
                start("parked", Waiter::park);
                start("asleep", Waiter::sleep);
            }
            if (line.equals("contend")) {
                for (int i = 0; i < 3; i++) start("contender " + i, i == 0 ? Contender::often : Contender::seldom);
            }
            System.out.println(line);
        }
        System.out.println("heavy " + IN_HEAVY + " light " + IN_LIGHT);
        System.exit(0);
    }

    private static void start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
    }

    /** Measures the processor time of both methods itself. They last differently each time: the kernel takes samples at its own ticks, and must not meet their rhythm. */
    static final class Burner {
        static void burn() {
            var threads = ManagementFactory.getThreadMXBean();
            while (true) {
                long start = threads.getCurrentThreadCpuTime();
                int rounds = ThreadLocalRandom.current().nextInt(500_000, 1_500_000);
                result += heavy(7 * rounds);
                long between = threads.getCurrentThreadCpuTime();
                result += light(3 * rounds);
                IN_HEAVY.addAndGet(between - start);
                IN_LIGHT.addAndGet(threads.getCurrentThreadCpuTime() - between);
            }
        }

        static long heavy(int rounds) {
            long value = 1;
            for (int i = 0; i < rounds; i++) value = value * 6_364_136_223_846_793_005L + i;
            return value;
        }

        static long light(int rounds) {
            long value = 2;
            for (int i = 0; i < rounds; i++) value = value * 6_364_136_223_846_793_005L + i;
            return value;
        }
    }

    /** Three quarters of the bytes are those of one method. */
    static final class Allocator {
        static void allocate() {
            while (true) {
                large();
                small();
                Thread.onSpinWait();
            }
        }

        static void large() {
            sink = new byte[3_000];
        }

        static void small() {
            sink = new byte[1_000];
        }
    }

    static final class Waiter {
        static void park() {
            while (true) java.util.concurrent.locks.LockSupport.park();
        }

        static void sleep() {
            try {
                while (true) Thread.sleep(100_000);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** One holds the monitor nearly always, so the others wait. */
    static final class Contender {
        static void often() {
            while (true) {
                synchronized (MONITOR) {
                    nap(20);
                }
            }
        }

        static void seldom() {
            while (true) {
                enter();
                nap(1);
            }
        }

        static void enter() {
            synchronized (MONITOR) {
                result++;
            }
        }

        private static void nap(long millis) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
