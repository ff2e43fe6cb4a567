package targets.hot;

import java.lang.reflect.Method;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * A method that is called in each way there is, by callers that are chosen at random and count calls and time themselves. A line on standard input is answered by what they have
 * counted up to now: calls and nanoseconds of each.
 */
public class CountedCallers {
    private static final int CALLERS = 8;
    private static final AtomicLongArray CALLS = new AtomicLongArray(CALLERS);
    private static final AtomicLongArray NANOS = new AtomicLongArray(CALLERS);
    private static volatile long result;

    public static void main(String[] arguments) {
        Thread worker = new Thread(Loop::run, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        for (String line = lines.nextLine(); !line.equals("quit"); line = lines.nextLine()) {
            StringBuilder counted = new StringBuilder();
            for (int caller = 0; caller < CALLERS; caller++) counted.append(CALLS.get(caller)).append(' ').append(NANOS.get(caller)).append(' ');
            System.out.println(counted.toString().trim());
        }
        System.exit(0);
    }

    /** A class of its own: one whose frame stays is not changed. */
    static final class Loop {
        static void run() {
            try {
                Helper helper = new Helper();
                Method method = Helper.class.getDeclaredMethod("hot", Integer.class, int.class);
                while (true) Worker.work(helper, method);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static final class Worker {
        static void work(Helper helper, Method method) throws ReflectiveOperationException {
            int rounds = ThreadLocalRandom.current().nextInt(2_000, 6_000);
            int caller = caller(ThreadLocalRandom.current().nextInt(100));
            long start = System.nanoTime();
            switch (caller) {
                case 0: directly(helper, rounds); break;
                case 1: statically(rounds); break;
                case 2: byInterface(helper, rounds); break;
                case 3: byReflection(helper, method, 3 * rounds); break;
                case 4: byLambda(helper, 2 * rounds); break;
                case 5: byRecursion(helper, 2 * rounds); break;
                case 6: byLongRecursion(helper, 3 * rounds); break;
                default: throwing(helper, 4 * rounds);
            }
            NANOS.addAndGet(caller, System.nanoTime() - start);
            CALLS.incrementAndGet(caller);
        }

        private static int caller(int of) {
            if (of < 40) return 0;
            if (of < 55) return 1;
            if (of < 70) return 2;
            if (of < 80) return 3;
            if (of < 90) return 4;
            if (of < 94) return 5;
            return of < 97 ? 6 : 7;
        }

        private static void directly(Helper helper, int rounds) {
            helper.hot(0, rounds);
        }

        private static void statically(int rounds) {
            Helper.hot((long) rounds);
        }

        /** By way of a bridge. */
        private static void byInterface(Task<Integer> task, int rounds) {
            task.hot(0, rounds);
        }

        private static void byReflection(Helper helper, Method method, int rounds) throws ReflectiveOperationException {
            method.invoke(helper, 0, rounds);
        }

        private static void byLambda(Helper helper, int rounds) {
            List.of(rounds).forEach(each -> helper.hot(0, each));
        }

        private static void byRecursion(Helper helper, int rounds) {
            helper.hot(3, rounds);
        }

        /** The method is called again by one that is further away than the caller. */
        private static void byLongRecursion(Helper helper, int rounds) {
            helper.hot(-3, rounds);
        }

        private static void throwing(Helper helper, int rounds) {
            try {
                helper.hot(null, rounds);
            } catch (IllegalArgumentException expected) {
                result = 1;
            }
        }
    }

    interface Task<T> {
        void hot(T deeper, int rounds);
    }

    static final class Helper implements Task<Integer> {
        static native void neverWritten();

        static void nobodyCallsIt() {}

        static void hot(long rounds) {
            loop((int) rounds);
        }

        @Override
        public void hot(Integer deeper, int rounds) {
            if (deeper == null) {
                loop(rounds);
                throw new IllegalArgumentException();
            }
            if (deeper > 0) hot(deeper - 1, rounds);
            else if (deeper < 0) again(20, deeper, rounds);
            else loop(rounds);
        }

        private void again(int frames, int deeper, int rounds) {
            if (frames > 0) again(frames - 1, deeper, rounds);
            else hot(deeper + 1, rounds);
        }

        private static void loop(int rounds) {
            long value = 1;
            for (int i = 0; i < rounds; i++) value = value * 6_364_136_223_846_793_005L + i;
            result = value;
        }
    }
}
