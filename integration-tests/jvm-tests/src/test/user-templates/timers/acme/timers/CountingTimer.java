package acme.timers;

import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLongArray;

/** A timer class as an application brings it: one object per call, the time noted by the constructor and by {@code end}. */
public final class CountingTimer {

    private static final int STARTED = 0;
    private static final int ENDED = 1;
    private static final int NANOS = 2;
    private static final ConcurrentSkipListMap<String, AtomicLongArray> SUMS = new ConcurrentSkipListMap<>();
    private static final ThreadLocal<CountingTimer> RUNNING = new ThreadLocal<>();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(CountingTimer::print));
    }

    private final String name;
    private final CountingTimer outer;
    private final long start = System.nanoTime();

    public CountingTimer(String name) {
        this.name = name;
        this.outer = RUNNING.get();
        RUNNING.set(this);
        add(STARTED, 1);
    }

    public CountingTimer(String className, String methodName) {
        this(className + "." + methodName);
    }

    public CountingTimer(int id) {
        this("id " + id);
    }

    public void end() {
        long elapsed = System.nanoTime() - start;
        if (RUNNING.get() != this || elapsed < 0) {
            System.out.println("# timer mixed up: " + name);
        }
        if (outer == null) {
            RUNNING.remove();
        } else {
            RUNNING.set(outer);
        }
        add(ENDED, 1);
        add(NANOS, elapsed);
    }

    private void add(int what, long value) {
        SUMS.computeIfAbsent(name, key -> new AtomicLongArray(3)).addAndGet(what, value);
    }

    private static void print() {
        SUMS.forEach((name, sums) -> System.out.println(
                "# timer " + name + " " + sums.get(STARTED) + " " + sums.get(ENDED) + " " + (sums.get(NANOS) > 0)));
    }
}
