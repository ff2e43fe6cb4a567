package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * The probe whose level can be changed while it runs. It asks a table of bytes, one for each probe, which the agent writes; for
 * compiled code that is one load from a fixed address. A start is 0 at level off, even at level time, odd at level watch, so
 * a call ends as it began. What a tick saw is recorded under the next number, because its times are not exact.
 */
public final class Live {
    private static final int WATCH = 1;
    private static final int TIME = 2;
    private static final int WARM_UPS = 10_000;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long LEVELS = levels();

    private Live() {}

    /** The address of the byte of probe 0. Those of the probes -3, -2 and -1, which no method has, say off, watch and time. */
    private static native long levels();

    /** The start of a call. */
    public static long enter(int id) {
        int level = U.getByte(LEVELS + id);
        if (level == WATCH) return Watch.tick | 1L;
        return level == TIME ? Clock.start() & ~1L : 0L;
    }

    /** The end of a call that {@link #enter} began. */
    public static void exit(long start, int id) {
        if ((start & 1L) != 0L) {
            U.loadFence();
            long now = Watch.tick | 1L;
            if (now != start) moved(start, now, id + 1);
        } else if (start != 0L) {
            Timer.exit(start, id);
        }
    }

    @DontInline
    private static void moved(long start, long now, int id) {
        if (start != 1L && now != 1L && Timer.on) Recorder.record(start, now, id);
    }

    /**
     * Goes all ways before the first probe does. The JIT leaves out ways that nobody has gone: a change of level would send every
     * compiled method back to the interpreter. Nothing is recorded, because the probes are off.
     */
    static void warmUp() {
        for (int i = 0; i < WARM_UPS; i++) {
            int id = i % 3 - 3;
            exit(enter(id), id);
        }
    }
}
