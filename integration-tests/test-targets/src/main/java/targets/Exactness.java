package targets;

import java.util.ArrayList;
import java.util.List;

/**
 * Makes 1,000,000 calls in four threads and counts each of them itself. Ten calls make a unit: the unit, a recursion of
 * four, three leaves, and two calls of which one throws.
 */
public final class Exactness {

    static final int THREADS = 4;
    static final int UNITS_PER_THREAD = 25_000;

    private Exactness() {}

    public static void main(String[] arguments) throws InterruptedException {
        List<Worker> workers = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            workers.add(new Worker("exact-" + i));
        }
        for (Worker worker : workers) {
            worker.start();
        }
        long checksum = 0;
        for (Worker worker : workers) {
            worker.join();
            checksum = checksum * 31 + worker.checksum;
        }
        Calls.print();
        System.out.println("checksum " + checksum);
    }

    /** One thread's share of the work. Its name is how the trace is asked about it. */
    static final class Worker extends Thread {

        private final Work work = new Work();
        private long checksum;

        Worker(String name) {
            super(name);
        }

        @Override
        public void run() {
            for (int i = 0; i < UNITS_PER_THREAD; i++) {
                checksum += work.unit(i);
            }
            Calls.add("targets.Exactness$Work.unit", work.units);
            Calls.add("targets.Exactness$Work.recurse", work.recursions);
            Calls.add("targets.Exactness$Work.leaf", work.leaves);
            Calls.add("targets.Exactness$Work.mayThrow", work.attempts);
        }
    }

    /** The instrumented class: every method is a target. */
    static final class Work {

        private long units;
        private long recursions;
        private long leaves;
        private long attempts;

        Work() {}

        long unit(int i) {
            units++;
            long sum = recurse(3, i);
            for (int k = 0; k < 3; k++) {
                sum += leaf(i + k);
            }
            try {
                sum += mayThrow(i, false);
                sum += mayThrow(i, true);
            } catch (IllegalStateException expected) {
                sum += expected.getMessage().length();
            }
            return sum;
        }

        long recurse(int depth, int i) {
            recursions++;
            return depth == 0 ? i : recurse(depth - 1, i) + depth;
        }

        int leaf(int i) {
            leaves++;
            return i ^ (i >>> 3);
        }

        int mayThrow(int i, boolean throwing) {
            attempts++;
            if (throwing) {
                throw new IllegalStateException("unit " + i);
            }
            return i & 7;
        }
    }
}
