package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * The probe of level {@code full}: what {@link Timer} notes, and for each method how many calls have begun, ended and thrown,
 * the processor time and the bytes allocated in them, and where each call that has not ended began.
 *
 * <p>All of it lives in memory of the agent, which reads it without asking anybody. Processor time and bytes are those of the
 * carrier thread, so they are not taken for calls in virtual threads, which share their carriers.
 */
public final class Full {
    /** Whether calls are counted; set by the agent. */
    static long on;
    /** Address of the figures, 64 bytes for each probe number; set by the agent before {@link #on}. */
    static long figures;
    /** Probe numbers from here on have no figures. */
    static long probes;
    /** Address of the table of calls that have not ended, 32 bytes for each. */
    static long calls;
    /** Number of its places, a power of two, less 1. */
    static long callMask;
    /** Whether processor time is taken: two system calls, most of what a call costs. */
    static long cpuTimes;
    /** Where HotSpot counts in a thread's own structure what the thread has allocated; 0 if that is unknown. */
    static long allocatedBytes;
    /** Where the thread's present allocation buffer begins, and how far it is used. */
    static long bufferStart;
    static long bufferTop;

    private static final Unsafe U = Unsafe.getUnsafe();
    /** Address of HotSpot's structure for a platform thread. */
    private static final long THREAD_STRUCTURE = U.objectFieldOffset(Thread.class, "eetop");

    private static final int STARTED = 0;
    private static final int ENDED = 8;
    private static final int THROWN = 16;
    private static final int CPU = 24;
    private static final int ALLOCATED = 32;
    /** Number of calls that {@link #CPU} and {@link #ALLOCATED} include. */
    private static final int MEASURED = 40;
    /** Calls that found no place in the table. */
    private static final int UNPLACED = 48;

    private static final int TRIES = 16;
    /** What {@link #enter} returns: the address of the call's place, or one of these. */
    static final long NOT_COUNTED = 0;
    static final long WITHOUT_PLACE = 1;
    /** Start of a call whose place is being filled; never a time. */
    private static final long FILLING = 1;
    /** In the place of the processor time, which is never so small: the call is measured, but without it. */
    private static final long NOT_TAKEN = 1;

    private Full() {}

    /** Processor time of the present thread in nanoseconds. */
    static native long cpuTime();

    /** Counts an exception of this type. */
    static native void threw(Class<?> type);

    /**
     * Begins a call before the clock is read, so that the cost of this method is not counted as time of the call. Steps that need
     * much stack run first: if the stack overflows, nothing has been counted yet.
     *
     * @param id the number of the probe, {@link Target#id()}
     * @return the call, for {@link #exit}
     */
    @DontInline
    public static long enter(int id) {
        if (on == 0 || id >= probes) return NOT_COUNTED;
        Thread thread = Thread.currentThread();
        boolean alone = !Ring.isVirtual(thread);
        long cpu = !alone ? 0 : cpuTimes == 0 ? NOT_TAKEN : cpuTime();
        long bytes = alone ? allocated(thread) : 0;
        long of = figures + ((long) id << 6);
        long place = takePlace(Clock.now(), id, cpu, bytes);
        if (place == WITHOUT_PLACE) U.getAndAddLong(null, of + UNPLACED, 1);
        U.getAndAddLong(null, of + STARTED, 1);
        return place;
    }

    /**
     * Ends and records a call that {@link #enter} and then {@link Timer#enter()} began.
     *
     * @param call what {@link #enter} returned
     * @param start what {@link Timer#enter()} returned
     * @param id the number of the probe, {@link Target#id()}
     * @param thrown what the call threw; may be null
     */
    @DontInline
    public static void exit(long call, long start, int id, Throwable thrown) {
        try {
            Timer.exit(start, id);
        } finally {
            if (call != NOT_COUNTED) {
                ended(call, id, thrown);
            }
        }
    }

    /** What is thrown to the application stays what it was, even if there is no stack left for this. */
    private static void countType(Throwable thrown) {
        try {
            threw(thrown.getClass());
        } catch (Throwable noStack) {
            // The call is counted; its type is not.
        }
    }

    /** The call of this place begins at this time, and not earlier as {@link #enter} took it. */
    static void began(long place, long now) {
        U.putLongRelease(null, place, now);
    }

    /** When the call of this place began. */
    static long began(long place) {
        return U.getLong(place);
    }

    /** Finds a free place for a call that begins now. Times differ in their low bits, so that calls spread over the table. */
    private static long takePlace(long now, int id, long cpu, long bytes) {
        long at = now * 0x9E3779B97F4A7C15L >>> 32;
        for (int i = 0; i < TRIES; i++) {
            long place = calls + ((at + i & callMask) << 5);
            if (U.getLong(place) == 0 && U.compareAndSetLong(null, place, 0, FILLING)) {
                U.putLong(place + 8, id);
                U.putLong(place + 16, cpu);
                U.putLong(place + 24, bytes);
                U.putLongRelease(null, place, now);
                return place;
            }
        }
        return WITHOUT_PLACE;
    }

    /** Counts the end of a call, and frees its place. */
    static void ended(long call, int id, Throwable thrown) {
        long of = figures + ((long) id << 6);
        if (call != WITHOUT_PLACE) {
            long cpuBefore = U.getLong(call + 16);
            if (cpuBefore != 0) {
                if (cpuBefore != NOT_TAKEN) U.getAndAddLong(null, of + CPU, cpuTime() - cpuBefore);
                long bytes = allocated(Thread.currentThread()) - U.getLong(call + 24);
                if (bytes > 0) U.getAndAddLong(null, of + ALLOCATED, bytes);
                U.getAndAddLong(null, of + MEASURED, 1);
            }
            U.putLongRelease(null, call, 0);
        }
        if (thrown != null) U.getAndAddLong(null, of + THROWN, 1);
        U.getAndAddLong(null, of + ENDED, 1);
        if (thrown != null) countType(thrown);
    }

    /** Bytes that the present thread has allocated in its life; 0 if that is unknown, -1 for a virtual one, which shares its carrier with others. */
    static long allocatedInLife() {
        Thread thread = Thread.currentThread();
        return U.getLong(thread, THREAD_STRUCTURE) == 0 ? -1 : allocated(thread);
    }

    /** Bytes that the thread has allocated in its life: those of earlier buffers and the used part of the present one. */
    private static long allocated(Thread thread) {
        long structure = U.getLong(thread, THREAD_STRUCTURE);
        if (structure == 0 || allocatedBytes == 0) return 0;
        long used = U.getLong(structure + bufferTop) - U.getLong(structure + bufferStart);
        return U.getLong(structure + allocatedBytes) + used;
    }
}
