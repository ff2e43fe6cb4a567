package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Which of the methods that contexts name are executing on a thread, and probes that record only inside such a context.
 *
 * <p>A context is a sequence of methods, each with an anchor. A thread that executes anchors has a place off heap with words of bits:
 * a bit is set if the steps of a context up to this one are executing, in this order. An anchor sets bits when its method begins and
 * restores the word before when it ends, on every way out. The steps of an anchor are a mask in a table that the agent
 * writes; a mask of 0 makes the anchor inert. So contexts are armed and changed by stores.
 *
 * <p>Where these words are, {@link Places} decides. A thread takes a place when its outermost anchor begins and gives it back when this
 * anchor ends.
 */
public final class Contexts {
    private static final int BITS = PlaceTable.BITS;
    private static final int WORDS = PlaceTable.WORDS;

    static final int FRAMES = 16;

    /** What a probe has: the last step of its context, and above it a bit that is set if this step must be the immediate caller. */
    private static final int STEP_STRIDE = 1;
    private static final int DIRECT = 0x100;

    /** What an anchor has: the mask of its steps, and those that are the first of their context. */
    private static final int ANCHOR_STRIDE = 4;
    private static final int FIRST = 8;

    /**
     * The lowest three bits of a word are those of no step. An anchor returns them with the word before it, so that the end of the call
     * needs no table: whether there is something to restore, and in which word.
     */
    private static final long RESTORE = 1;
    private static final int WORD = 6;
    /** What an anchor returns that took the place of the thread; no word before is restored. */
    private static final long TOOK_PLACE = 8;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long ANCHORS = anchors();
    private static final long STEPS = steps();

    /** The first of the probes that represent the levels (see {@link Live}): inside the context of anchor 0. */
    private static final int WARM_UP_ID = -5;
    /** One that asks who called. */
    private static final int DIRECT_WARM_UP_ID = -4;
    private static final int WARM_UP_ANCHOR = 0;
    /** An anchor of word 0 that never has a step. */
    private static final int INERT_ANCHOR = 4;
    private static final int WARM_UPS = 10_000;
    private static final int RARELY = 64;

    private Contexts() {}

    /** The address of what anchor 0 has. */
    private static native long anchors();

    /** The address of what probe 0 has: the last step of the probe's context, or 0. */
    private static native long steps();

    /** Whether the method whose probe asks was called by the last method of the context with this last step; looks at the stack. */
    private static native boolean isCalledDirectly(int lastStep);

    /**
     * Begins a call of a probe that records inside its context only.
     *
     * @param id the number of the probe, {@link Target#id()}
     * @return what {@link Live#enter} returns, or 0 outside the context
     */
    public static long enter(int id) {
        return isIn(id) ? Live.enter(id) : 0L;
    }

    /**
     * Returns whether the thread is inside the context of a probe.
     *
     * @param id the number of the probe
     * @return whether all methods of the context are executing, in their order, and the last one has called the probed method itself if that is asked for
     */
    public static boolean isIn(int id) {
        long place = Places.seen();
        if (place == 0L) return false;
        int step = U.getShort(STEPS + ((long) id << STEP_STRIDE));
        return hasBit(place, step & DIRECT - 1) && ((step & DIRECT) == 0 || isCalledDirectly(step & DIRECT - 1));
    }

    /** Whether the thread is inside the context of which this is the last step. */
    static boolean isAt(int step) {
        long place = Places.seen();
        return place != 0L && hasBit(place, step);
    }

    private static boolean hasBit(long place, int step) {
        return (U.getLong(place + BITS + (step >> 6 << 3)) >>> step & 1L) != 0L;
    }

    /**
     * Begins a call of an anchor.
     *
     * @param anchor the number of the anchor, which the agent puts in the place of {@link Target#id()}
     * @return what {@link #leave} needs
     */
    public static long anchor(int anchor) {
        long of = ANCHORS + ((long) anchor << ANCHOR_STRIDE);
        long mask = U.getLong(of);
        if (mask == 0L) return 0L;
        long place = Places.held();
        if (place == 0L) return (U.getLong(of + FIRST) & mask) == 0L ? 0L : take(anchor);
        int word = anchor & WORDS - 1;
        long at = place + BITS + ((long) word << 3);
        long before = U.getLong(at);
        U.putLong(at, before | (before << 1 | U.getLong(of + FIRST)) & mask);
        return before | word << 1 | RESTORE;
    }

    /**
     * Returns whether an anchor of one step would make it: the steps before it in its context are executing.
     *
     * @param anchor the number of the anchor, {@link Target#id()}
     * @return false if the context is not armed
     */
    public static boolean isNext(int anchor) {
        long of = ANCHORS + ((long) anchor << ANCHOR_STRIDE);
        long mask = U.getLong(of);
        if (mask == 0L) return false;
        if ((U.getLong(of + FIRST) & mask) != 0L) return true;
        long place = Places.held();
        return place != 0L && (U.getLong(place + BITS + ((long) (anchor & WORDS - 1) << 3)) << 1 & mask) != 0L;
    }

    /**
     * Returns the same for an anchor that changes nothing within another call that makes the step.
     *
     * @param anchor the number of the anchor, {@link Target#id()}
     * @return false also if the step is executing already
     */
    public static boolean isOutermostNext(int anchor) {
        if (!isNext(anchor)) return false;
        long place = Places.held();
        long mask = U.getLong(ANCHORS + ((long) anchor << ANCHOR_STRIDE));
        return place == 0L || (U.getLong(place + BITS + ((long) (anchor & WORDS - 1) << 3)) & mask) == 0L;
    }

    /**
     * Begins a call of an anchor that is not a step of its context, even if the thread is inside another call that is.
     *
     * @param anchor the number of the anchor, {@link Target#id()}
     * @return what {@link #leave} needs
     */
    public static long without(int anchor) {
        long place = Places.held();
        if (place == 0L) return 0L;
        int word = anchor & WORDS - 1;
        long at = place + BITS + ((long) word << 3);
        long before = U.getLong(at);
        U.putLong(at, before & ~U.getLong(ANCHORS + ((long) anchor << ANCHOR_STRIDE)));
        return before | word << 1 | RESTORE;
    }

    /**
     * Ends a call of an anchor.
     *
     * @param before what {@link #anchor} returned
     */
    public static void leave(long before) {
        if (before == 0L) return;
        long place = Places.held();
        if (place == 0L) return;
        if (before == TOOK_PLACE) {
            Places.giveBack(place);
        } else {
            U.putLong(place + BITS + ((before & WORD) << 2), before & -8L);
        }
    }

    /**
     * The present thread begins to run tasks of others in order not to wait.
     *
     * @return whether it did before; false if it is in no context
     */
    public static boolean beginsToHelp() {
        long place = Places.held();
        return place != 0L && PlaceTable.setHelps(place, true);
    }

    /**
     * Ends what {@link #beginsToHelp} began.
     *
     * @param before what that returned
     */
    public static void endsHelping(boolean before) {
        long place = Places.held();
        if (place != 0L) PlaceTable.setHelps(place, before);
    }

    /** Takes a place for the thread, whose outermost anchor begins. */
    @DontInline
    private static long take(int anchor) {
        long place = takePlace();
        if (place == 0L) return 0L;
        // Read once more: the agent may have seen the place free, and given the step to another context since.
        long of = ANCHORS + ((long) anchor << ANCHOR_STRIDE);
        U.putLong(place + BITS + ((long) (anchor & WORDS - 1) << 3), U.getLong(of + FIRST) & U.getLong(of));
        return TOOK_PLACE;
    }

    /** Takes a place for the thread, which has none; returns 0 if there is none. There is enough stack for {@link Places#giveBack}. */
    static long takePlace() {
        haveRoom(FRAMES);
        return Places.take();
    }

    /**
     * Overflows the stack now, if there is not enough of it for what follows and for {@link #leave} at the end of the call: a place that is
     * taken must be given back.
     */
    @DontInline
    static int haveRoom(int frames) {
        return frames == 0 ? 0 : 1 + haveRoom(frames - 1);
    }

    /** Goes the ways of anchors and of conditional probes, as {@link Live#warmUp} does. No context has the step that is used for it. */
    static void warmUp() {
        for (int i = 0; i < WARM_UPS; i++) {
            leave(anchor(INERT_ANCHOR));
            long outer = anchor(WARM_UP_ANCHOR);
            long inner = anchor(WARM_UP_ANCHOR);
            Live.exit(enter(WARM_UP_ID), WARM_UP_ID);
            leave(inner);
            if (i % RARELY == 0) isIn(DIRECT_WARM_UP_ID);
            leave(outer);
            Live.exit(enter(WARM_UP_ID), WARM_UP_ID);
        }
    }
}
