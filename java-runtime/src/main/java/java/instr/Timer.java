package java.instr;

import jdk.internal.vm.annotation.DontInline;

/** The probe of level {@code time}: the exact start and duration of every call. */
public final class Timer {
    /** Cleared to stop all recording at once. */
    static boolean on;

    private Timer() {}

    /** The start. No test of {@link #on}: it would be one more branch in every method, and {@link #exit} tests it. */
    public static long enter() {
        return Clock.start();
    }

    /** The time at which a call ends; 0 if nothing is recorded. */
    @DontInline
    public static long end() {
        return on ? Clock.now() : 0L;
    }

    /**
     * The end of a call that {@link #enter()} began. Never inlined: beside the clock a call costs nothing, and thousands of
     * copies would keep the JIT busy while the application starts.
     */
    @DontInline
    public static void exit(long start, int id) {
        if (on) Recorder.record(start, Clock.now(), id);
    }
}
