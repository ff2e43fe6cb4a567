package targets;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * {@code ManyThreads platform|virtual THREADS CALLS}: this number of threads at once, each with this number of calls that allocate.
 * {@code ManyThreads short THREADS CALLS}: this number of threads, eight at a time; prints how far the process has grown in a
 * quarter.
 */
public final class ManyThreads {

    private static final int AT_A_TIME = 8;
    private static final AtomicLong MADE = new AtomicLong();
    private static final AtomicLong SUM = new AtomicLong();

    private ManyThreads() {}

    public static void main(String[] arguments) throws Exception {
        String kind = arguments[0];
        int threads = Integer.parseInt(arguments[1]);
        int calls = Integer.parseInt(arguments[2]);
        if (kind.equals("short")) {
            oneAfterTheOther(threads, calls);
        } else {
            allAtOnce(kind.equals("virtual"), threads, calls);
        }
        System.out.println("sum " + SUM);
        Calls.add("targets.ManyThreads$Work.step", MADE.get());
        Calls.print();
    }

    private static void allAtOnce(boolean isVirtual, int threads, int calls) throws Exception {
        CountDownLatch start = new CountDownLatch(1);
        List<Thread> started = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            started.add(start(isVirtual, "many-" + i, () -> {
                await(start);
                work(calls, isVirtual);
            }));
        }
        start.countDown();
        for (Thread thread : started) {
            thread.join();
        }
    }

    private static void oneAfterTheOther(int threads, int calls) throws Exception {
        MemoryGrowth growth = new MemoryGrowth();
        for (int done = 0; done < threads; done += AT_A_TIME) {
            List<Thread> started = new ArrayList<>();
            for (int i = 0; i < AT_A_TIME; i++) {
                started.add(start(false, "short-" + (done + i), () -> work(calls, false)));
            }
            for (Thread thread : started) {
                thread.join();
            }
            growth.done((done + AT_A_TIME) / AT_A_TIME, threads / AT_A_TIME);
        }
        // On standard error, as it is another number each time and standard output is compared.
        System.err.println("growth-kb " + growth.leastKilobytes());
    }

    private static void work(int calls, boolean isVirtual) {
        Work work = new Work();
        for (int i = 0; i < calls; i++) {
            work.step(i);
            if (isVirtual && i % 8 == 7) {
                Thread.yield();
            }
        }
        MADE.addAndGet(work.steps);
        SUM.addAndGet(work.sum);
    }

    private static Thread start(boolean isVirtual, String name, Runnable body) throws Exception {
        if (!isVirtual) {
            Thread thread = new Thread(body, name);
            thread.start();
            return thread;
        }
        // By reflection: these classes are compiled for JDK 11.
        Method starter = Thread.class.getMethod("startVirtualThread", Runnable.class);
        return (Thread) starter.invoke(null, body);
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The instrumented class. */
    static final class Work {

        private long steps;
        private long sum;
        private byte[] kept;

        void step(int i) {
            steps++;
            if (kept == null || i % 4 == 0) {
                kept = new byte[512 + (i & 127)];
            }
            kept[i & 127]++;
            sum += kept.length;
        }
    }
}
