package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/** The table of the places that threads have, off heap, where each is found by the id of the thread, virtual or not. */
final class PlaceTable {
    /** The words of a place: id of the thread, 0 while the place is free, ... */
    private static final int OWNER = 0;
    /** ... the bits of the steps, ... */
    static final int BITS = 8;
    static final int WORDS = 4;
    /** ... how many threads whose place this would be have another one, ... */
    private static final int DISPLACED = 40;
    /** ... how often the place has been given back, ... */
    private static final int GIVEN_BACK = 48;
    /** ... whether the thread runs tasks of others in order not to wait, ... */
    private static final int HELPS = 56;
    /** ... and by whom the task was handed over that it runs, as caller finders number that; 0: by nobody who is known. */
    private static final int HANDED_OVER_BY = 60;

    /** Log2 of the bytes from place to place. */
    private static final int STRIDE = 6;
    private static final long MASK = 0xffffL;
    /** A thread whose place is taken has one of some others, at this distance from each other. */
    private static final int OTHERS = 8;
    private static final long DISTANCE = 8_171L;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long PLACES = places();
    static final long END = PLACES + (MASK + 1 << STRIDE);
    private static final long WITHOUT_PLACE = withoutPlace();

    private PlaceTable() {}

    /** The address of the first place. The owner of the first place is never a thread: a thread that is being attached has the id 0. */
    private static native long places();

    /** The address of the number of calls of anchors that found no place. */
    private static native long withoutPlace();

    /** Returns the place of the present thread; 0 if it has none. */
    static long find() {
        long thread = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        long home = PLACES + ((thread & MASK) << STRIDE);
        if (U.getLong(home + OWNER) == thread) return home;
        return U.getLong(home + DISPLACED) == 0L ? 0L : elsewhere(thread, home);
    }

    @DontInline
    private static long elsewhere(long thread, long home) {
        // A thread that is being attached has no id yet: to it, a free place would look like its own.
        if (thread == 0L) return 0L;
        for (int other = 1; other < OTHERS; other++) {
            long place = other(home, other);
            if (U.getLong(place + OWNER) == thread) return place;
        }
        return 0L;
    }

    /** Far from the home: ids that follow each other are in use together. */
    private static long other(long home, int number) {
        long place = home + ((long) number * DISTANCE << STRIDE);
        return place < END ? place : place - END + PLACES;
    }

    /** The number of a place. */
    static int number(long place) {
        return (int) (place - PLACES >>> STRIDE);
    }

    /** Whether a place is that of a thread that runs tasks of others in order not to wait. */
    static boolean helps(long place) {
        return place != 0L && U.getInt(place + HELPS) != 0;
    }

    /** Returns what it was before. */
    static boolean setHelps(long place, boolean helps) {
        boolean before = helps(place);
        U.putInt(place + HELPS, helps ? 1 : 0);
        return before;
    }

    /** By whom the task was handed over that the thread of a place runs; 0: by nobody who is known. */
    static int handedOverBy(long place) {
        return place == 0L ? 0 : U.getInt(place + HANDED_OVER_BY);
    }

    static void setHandedOverBy(long place, int caller) {
        U.putInt(place + HANDED_OVER_BY, caller);
    }

    /** Takes a place for the present thread, which has none; returns 0 if there is no room. */
    static long take() {
        long thread = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        // A thread that is being attached has no id yet.
        if (thread == 0L) return 0L;
        long home = PLACES + ((thread & MASK) << STRIDE);
        for (int other = 0; other < OTHERS; other++) {
            long place = other(home, other);
            if (U.getLong(place + OWNER) == 0L && U.compareAndSetLong(null, place + OWNER, 0L, thread)) {
                if (place != home) U.getAndAddLong(null, home + DISPLACED, 1L);
                return place;
            }
        }
        countWithoutPlace();
        return 0L;
    }

    static void countWithoutPlace() {
        U.getAndAddLong(null, WITHOUT_PLACE, 1L);
    }

    /** Frees a place, and sets its words to 0 for the next thread. */
    static void giveBack(long place) {
        U.putInt(place + HELPS, 0);
        U.putInt(place + HANDED_OVER_BY, 0);
        for (int word = 0; word < WORDS; word++) {
            U.putLong(place + BITS + ((long) word << 3), 0L);
        }
        long home = PLACES + ((U.getLong(place + OWNER) & MASK) << STRIDE);
        if (place != home) U.getAndAddLong(null, home + DISPLACED, -1L);
        U.putLong(place + GIVEN_BACK, U.getLong(place + GIVEN_BACK) + 1L);
        U.putLongRelease(null, place + OWNER, 0L);
    }
}
