package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * The probe whose level can be changed while it runs. Each probe has a byte, which the agent writes: its level. Each level has a
 * word: the start value of a call at this level. So levels off and watch, and burst outside its windows, run the same code: two
 * loads from fixed addresses, without a branch between the levels.
 *
 * <p>The value that {@link #enter} returns encodes how the call began, and so how it ends even if the level changes in between: 0
 * at level off, odd and positive at watch (the tick), even and positive at time, negative at full and in a burst. Records of levels
 * other than time have the numbers after the probe's own, because their figures have another meaning.
 */
public final class Live {
    /** Words that are no start: the call begins as they say. So does any other negative word: the end of a burst's window. */
    private static final long TIME = -1;
    private static final long FULL = -2;
    /** For a moment, in place of the tick: the call counts itself. */
    private static final long COUNTED = -3;
    /** As time, for as many calls as are left. */
    private static final long LIMITED = -4;
    /** The tick before the first one. */
    private static final long NO_TICK = 1;

    /** Offsets from a probe's number to the numbers of its records for ticks, for level full and for bursts. */
    private static final int TICKS = 1;
    private static final int FULL_CALLS = 2;
    private static final int BURSTS = 3;
    /** Four bits for each way to begin: even, odd, even, odd, placed, unplaced, in a burst. */
    private static final int NUMBERS = BURSTS << 24 | FULL_CALLS << 20 | FULL_CALLS << 16 | TICKS << 12 | TICKS << 4;

    /** Kinds of negative starts, in their lowest bits: a value of 61 bits, and above it the sign. */
    private static final int PLACED = 0;
    private static final int UNPLACED = 1;
    private static final int IN_BURST = 2;

    /** Fewer are not enough on JDK 21 if the machine is busy: the JIT begins to note the ways of a method only when its thread gets to run. */
    private static final int WARM_UPS = 10_000;
    private static final int RARELY = 64;
    /** The first of the probes that represent the levels. */
    private static final int OFF_ID = -5;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long LEVELS = levels();
    private static final long WORDS = words();
    private static final long TICK = WORDS + 8;
    private static final long BURST = WORDS + 32;
    /** How many calls are left: of all probes together that have a limit. */
    private static final long LEFT = WORDS + 128;

    private Live() {}

    /** The address of the byte of probe 0. Those of the probes -5 to -1, which no method has, stand for all levels. */
    private static native long levels();

    /** The address of the words; a level is the offset of its word. */
    private static native long words();

    /**
     * Begins a call.
     *
     * @param id the number of the probe, {@link Target#id()}
     * @return how it began, for {@link #exit}; 0 at level off
     */
    public static long enter(int id) {
        long word = word(id);
        return word >= 0L ? word : begin(word, id);
    }

    private static long word(int id) {
        return U.getLong(WORDS + U.getByte(LEVELS + id));
    }

    private static long begin(long word, int id) {
        if (word == TIME) return Clock.start() & ~1L;
        return word == FULL ? beginFull(id) : beginInBurst(word, id);
    }

    /**
     * Ends a call that {@link #enter} began. The fence costs no instruction on x86; without it C2 reads the tick once for
     * both ends of a body without stores, and long calls go missing.
     *
     * @param start what {@link #enter} returned
     * @param id the number of the probe, {@link Target#id()}
     */
    public static void exit(long start, int id) {
        U.loadFence();
        if (U.getLong(TICK) != start && start != 0L) ended(start, id, null);
    }

    /**
     * Returns whether the end of the call has to be recorded: never at level off, and at watch only if a tick has passed.
     *
     * @param start what {@link #enter} returned
     * @return whether to call {@link #exit} or {@link #end}
     */
    public static boolean mustEnd(long start) {
        U.loadFence();
        return U.getLong(TICK) != start && start != 0L;
    }

    /**
     * Ends a call that threw.
     *
     * @param start what {@link #enter} returned
     * @param id the number of the probe, {@link Target#id()}
     * @param thrown what the call threw; may be null
     */
    public static void exitThrown(long start, int id, Throwable thrown) {
        U.loadFence();
        if (U.getLong(TICK) != start && start != 0L) ended(start, id, thrown);
    }

    private static void ended(long start, int id, Throwable thrown) {
        if (start > 0L) {
            record(start, id);
        } else {
            endRare(start, id, thrown);
        }
    }

    /** Never inlined, as all that only the dear levels need: thousands of copies would keep the JIT busy. */
    @DontInline
    private static long beginInBurst(long word, int id) {
        if (word == COUNTED) {
            Watch.count(id);
            return U.getLong(TICK);
        }
        // Read first: when none is left, threads must not contend for the word.
        if (word == LIMITED) return U.getLong(LEFT) > 0L && U.getAndAddLong(null, LEFT, -1L) > 0L ? Clock.start() & ~1L : 0L;
        long now = Clock.now();
        if (now >= (word & Long.MAX_VALUE)) {
            // Closed here, because the thread that opened the window may be late or terminated. A new window has another word.
            U.compareAndSetLong(null, BURST, word, 0L);
            return 0L;
        }
        return start(now, IN_BURST);
    }

    @DontInline
    private static long beginFull(int id) {
        long call = Full.enter(id + FULL_CALLS);
        long now = Clock.now();
        if (call == Full.NOT_COUNTED) return now & ~1L;
        if (call == Full.WITHOUT_PLACE) return start(now, UNPLACED);
        Full.began(call, now);
        return start(call, PLACED);
    }

    private static long start(long value, int kind) {
        return Long.MIN_VALUE | value << 2 | kind;
    }

    private static long value(long start) {
        return start << 1 >>> 3;
    }

    @DontInline
    private static void record(long start, int id) {
        long end = end(start);
        if (end != 0L) Recorder.record(start, end, number(start, id));
    }

    @DontInline
    private static void endRare(long start, int id, Throwable thrown) {
        long began = began(start);
        try {
            Timer.exit(began, number(start, id));
        } finally {
            close(start, id, thrown);
        }
    }

    /**
     * Returns the end time of a call with this start. Called once for each call. Ticks and times are distinguished without a
     * branch: the JIT would not compile the side that it has not seen yet.
     *
     * @param start what {@link #enter} returned
     * @return the time; 0 if nothing is to be recorded
     */
    public static long end(long start) {
        if (start == 0L || !Timer.on) return 0L;
        U.loadFence();
        long ofTick = -(start & 1L) & ~(start >> 63);
        long now = Clock.now();
        long end = U.getLong(TICK) & ofTick | now & ~ofTick;
        boolean moved = (end ^ start | ~ofTick) != 0L;
        return moved & end != NO_TICK & start != NO_TICK ? end : 0L;
    }

    /** The time at which a call began that is recorded; asked before {@link #close}. */
    static long began(long start) {
        if (start > 0L) return start;
        return (start & 3L) == PLACED ? Full.began(value(start)) : value(start);
    }

    /** The number under which a call is recorded that began so. */
    static int number(long start, int id) {
        int way = (int) (start >>> 63) << 2 | (int) start & 3;
        return id + (NUMBERS >> (way << 2) & 15);
    }

    /** Counts the end of a call at level full; does nothing at other levels. */
    static void close(long start, int id, Throwable thrown) {
        if (start >= 0L || (start & 3L) == IN_BURST) return;
        Full.ended((start & 3L) == PLACED ? value(start) : Full.WITHOUT_PLACE, id + FULL_CALLS, thrown);
    }

    /**
     * Goes all ways before the first probe does. The JIT leaves out ways that nobody has gone: a change of level would send every
     * compiled method back to the interpreter. Nothing is recorded: the probes are off, and no tick has moved. What is never
     * inlined is called too seldom to be compiled for good before it has been used.
     */
    static void warmUp() {
        for (int i = 0; i < WARM_UPS; i++) {
            exit(enter(OFF_ID), OFF_ID);
            exitThrown(enter(OFF_ID), OFF_ID, null);
            if (i % RARELY == 0) goRareWays();
        }
    }

    private static void goRareWays() {
        for (int id = OFF_ID + 1; id < 0; id++) {
            exit(enter(id), id);
            exitThrown(enter(id), id, null);
        }
        // The first word is that of a window in a far future.
        long start = begin(Long.MIN_VALUE | Long.MAX_VALUE >>> 2, OFF_ID);
        exit(start, OFF_ID);
        exitThrown(start, OFF_ID, null);
        exit(begin(Long.MIN_VALUE | 1L, OFF_ID), OFF_ID);
        exit(begin(LIMITED, OFF_ID), OFF_ID);
        // No method has the probe 0, but it has a counter.
        exit(begin(COUNTED, 0), 0);
    }
}
