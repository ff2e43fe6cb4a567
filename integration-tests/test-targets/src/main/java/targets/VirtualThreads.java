package targets;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Starts 10,000 virtual threads that are unmounted in the middle of an instrumented call. Needs a JDK 21. */
public final class VirtualThreads {

    static final int THREADS = 10_000;
    static final int STEPS = 5;
    private static final AtomicLong SUM = new AtomicLong();
    private static final ConcurrentLinkedQueue<Long> IDS = new ConcurrentLinkedQueue<>();

    private VirtualThreads() {}

    public static void main(String[] arguments) throws Exception {
        // By reflection: these classes are compiled for JDK 11.
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads.add((Thread) start.invoke(null, (Runnable) () -> body(number)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        meetInTheMiddle(start);
        System.out.println("sum " + SUM + " distinct ids " + new TreeSet<>(IDS).size());
        Calls.add("targets.VirtualThreads.body", THREADS);
        Calls.add("targets.VirtualThreads.step", (long) THREADS * STEPS);
        Calls.print();
    }

    static void body(int number) {
        IDS.add(Thread.currentThread().getId());
        for (int i = 0; i < STEPS; i++) {
            SUM.addAndGet(step(number, i));
        }
    }

    static int step(int number, int i) {
        if (i % 2 == 0) {
            LockSupport.parkNanos(1_000);
        } else {
            Thread.yield();
        }
        return number ^ i;
    }

    /** All wait for all inside one call, so each must have been unmounted there. */
    private static void meetInTheMiddle(Method start) throws Exception {
        int parties = 200;
        CyclicBarrier barrier = new CyclicBarrier(parties);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < parties; i++) {
            threads.add((Thread) start.invoke(null, (Runnable) () -> meet(barrier)));
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Calls.add("targets.VirtualThreads.meet", parties);
    }

    static void meet(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
