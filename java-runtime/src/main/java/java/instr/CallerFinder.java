package java.instr;

import jdk.internal.misc.Unsafe;

/**
 * The hook of a caller finder: who calls a method, how often, and how long these calls take. It is off but for short windows; then each call has the agent look
 * at the stack. Each hook has a number; its lowest bits say which of the bytes is its own. Another hook that gets this byte later has another number, so
 * calls that end late are not counted for it.
 */
public final class CallerFinder {
    private static final int BYTES = 128;
    /** Its byte is always set, and the agent counts nothing for it. */
    private static final int WARM_UP = 64;
    private static final int WARM_UPS = 10_000;
    private static final int RARELY = 16;
    static final int BY_ITSELF = -1;

    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long TABLE = table();

    private CallerFinder() {}

    /** The address of the bytes: 0 while a hook is off. */
    private static native long table();

    /**
     * Has the agent look who calls the method whose hook this is, or has handed over the task that calls it; returns the row in which it counts the call, 0 if it
     * does not.
     */
    private static native int entered(int hook, long thread, int handedOverBy, long allocated);

    /** Has the agent look who hands a task over; returns the number of that, 0 if it is not known, {@link #BY_ITSELF} if the JDK itself does it. */
    static native int handsOver();

    /** Tells the agent that a call of this row has ended, how long it took, and what the thread has allocated in its life, -1 for a virtual one. */
    private static native void ended(int hook, long thread, int row, long time, long allocated);

    /** A thread that is being attached has no id yet: 0. */
    private static long thread() {
        return U.getLong(Thread.currentThread(), Ring.THREAD_ID);
    }

    /**
     * Begins a call.
     *
     * @param hook the number of the hook, which the agent puts in the place of {@link Target#id()}
     * @return the row of its caller; 0 if it is not counted
     */
    public static int enter(int hook) {
        return U.getByte(TABLE + (hook & BYTES - 1)) == 0 ? 0 : entered(hook, thread(), Handover.handedOverBy(), Full.allocatedInLife());
    }

    /**
     * Returns when a call begins; looking at the stack is no part of it.
     *
     * @param row what {@link #enter} returned
     * @return the time; 0 if the call is not counted
     */
    public static long start(int row) {
        return row == 0 ? 0L : Clock.now();
    }

    /**
     * Ends a call.
     *
     * @param row what {@link #enter} returned
     * @param start what {@link #start} returned
     * @param hook the number of the hook, {@link Target#id()}
     */
    public static void exit(int row, long start, int hook) {
        if (row != 0) ended(hook, thread(), row, Clock.now() - start, Full.allocatedInLife());
    }

    /** Goes both ways, on and off: what is compiled with a hook that is off need not be compiled again when it is on. */
    static void warmUp() {
        for (int i = 0; i < WARM_UPS; i++) {
            int hook = i % RARELY == 0 ? WARM_UP : WARM_UP + 1;
            int row = enter(hook);
            exit(row, start(row), hook);
        }
    }
}
