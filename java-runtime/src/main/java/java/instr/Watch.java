package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * The probe of level {@code watch}: reads a tick that the agent advances each millisecond and records only if it moved
 * during the call. Every call longer than a tick is recorded, and of the shorter ones a sample whose recorded ticks add up
 * to their time.
 */
public final class Watch {
    /**
     * What the {@link Clock} said at the last tick; 0 before the first and after the end. Volatile, or the JIT moves the two
     * readings of a call without calls of its own together: then they are always equal.
     *
     * <p>A number with a fraction, because one that is none (NaN) differs from itself: while the agent counts calls, it says such a
     * tick, whose lower bits have the time, and every call that ends goes the long way.
     */
    public static volatile double tick;

    /** The bits of a NaN that are the agent's to choose. */
    private static final long TIME_BITS = (1L << 51) - 1;
    /** Probes with higher numbers are not counted. */
    private static final int COUNTED = 1 << 20;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long COUNTS = counts();

    private Watch() {}

    /** The address of the first of the counters, a word for each probe; 0 if there are none. */
    private static native long counts();

    /**
     * Ends a call that began at this tick. The fence costs no instruction on x86; without it C2 of JDK 21 compiles the
     * two volatile readings around a loop without stores as one, and long calls go missing.
     *
     * @param start {@link #tick} when the call began
     * @param id the number of the probe, {@link Target#id()}
     */
    public static void exit(double start, int id) {
        U.loadFence();
        if (tick != start) moved(start, id);
    }

    /**
     * The same where an exception leaves the method: not a comparison in place, because the JIT would copy that into each caller for a
     * case that is rare, and callers that grow are compiled into theirs less often.
     *
     * @param start {@link #tick} when the call began
     * @param id the number of the probe, {@link Target#id()}
     */
    @DontInline
    public static void thrown(double start, int id) {
        exit(start, id);
    }

    /** Reads the tick again: one argument less in the code of each caller, and a newer tick is as good. */
    @DontInline
    private static void moved(double start, int id) {
        long end = time(start, tick, id);
        if (end != 0L) Recorder.record(began(start, end), end, id);
    }

    /**
     * Returns the time at which a call ended that began at this tick. For templates that have something to add to what they record.
     *
     * @param start {@link #tick} when the call began
     * @param id the number of the probe, {@link Target#id()}
     * @return the time; 0 if the call is not to be recorded
     */
    public static long end(double start, int id) {
        U.loadFence();
        double now = tick;
        return now == start ? 0L : time(start, now, id);
    }

    /**
     * Returns the time of the tick at which a call began.
     *
     * @param start {@link #tick} when the call began
     * @param end what {@link #end} returned
     * @return the time
     */
    public static long began(double start, long end) {
        return Double.isNaN(start) ? time(start, end) : (long) start;
    }

    @DontInline
    private static long time(double start, double now, int id) {
        if (start == 0 || now == 0 || !Timer.on) return 0L;
        if (!Double.isNaN(now)) return (long) now;
        count(id);
        // Began and ended without a tick in between, if that one counts, too.
        return Double.isNaN(start) ? 0L : time(now, (long) start);
    }

    /** Threads may get in each other's way: a call more or less does not matter. */
    static void count(int id) {
        if (COUNTS == 0L || id >= COUNTED) return;
        long counter = COUNTS + ((long) id << 3);
        U.putLong(counter, U.getLong(counter) + 1);
    }

    /** The time of a tick that counts, which is near that of another one. */
    private static long time(double counting, long other) {
        long time = other & ~TIME_BITS | Double.doubleToRawLongBits(counting) & TIME_BITS;
        if (time - other > TIME_BITS >> 1) return time - TIME_BITS - 1;
        return other - time > TIME_BITS >> 1 ? time + TIME_BITS + 1 : time;
    }
}
