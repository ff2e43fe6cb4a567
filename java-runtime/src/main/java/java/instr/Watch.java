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
     */
    public static volatile long tick;

    private static final Unsafe U = Unsafe.getUnsafe();

    private Watch() {}

    /**
     * The end of a call that began at this tick. The fence costs no instruction on x86; without it C2 of JDK 21 compiles the
     * two volatile readings around a loop without stores as one, and long calls go missing.
     */
    public static void exit(long start, int id) {
        U.loadFence();
        long now = tick;
        if (now != start) moved(start, now, id);
    }

    /** The tick at which a call ends that began at this tick; 0 if it has not moved, so that nothing is to be recorded. */
    public static long end(long start) {
        U.loadFence();
        long now = tick;
        return now != start ? now : 0L;
    }

    @DontInline
    private static void moved(long start, long now, int id) {
        if (start != 0L && now != 0L && Timer.on) Recorder.record(start, now, id);
    }
}
