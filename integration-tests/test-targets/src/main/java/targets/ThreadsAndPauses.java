package targets;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/** {@code ThreadsAndPauses THREADS COLLECTIONS}: that many short threads, one after the other, and collections; the JVM's own figures at the end. */
public final class ThreadsAndPauses {

    static final class Guest {
        private Guest() {}
    }

    private ThreadsAndPauses() {}

    public static void main(String[] arguments) throws Exception {
        int threads = Integer.parseInt(arguments[0]);
        MemoryGrowth growth = new MemoryGrowth();
        for (int number = 0; number < threads; number++) {
            Thread thread = new Thread(ThreadsAndPauses::work, "short-" + number);
            thread.start();
            thread.join();
            growth.done(number + 1, threads);
        }
        for (int number = 0; number < Integer.parseInt(arguments[1]); number++) {
            System.gc();
        }
        Class.forName("targets.ThreadsAndPauses$Guest");
        System.out.println("growth-kb " + growth.leastKilobytes());
        System.out.println("collections " + collections());
    }

    static void work() {}

    private static long collections() {
        return ManagementFactory.getGarbageCollectorMXBeans().stream()
                .mapToLong(GarbageCollectorMXBean::getCollectionCount)
                .sum();
    }
}
