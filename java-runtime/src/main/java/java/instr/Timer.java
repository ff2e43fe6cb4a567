package java.instr;

import jdk.internal.vm.annotation.DontInline;

/** The probe of level {@code time}: the exact start and duration of every call. */
public final class Timer {
    /** Cleared to stop all recording at once. */
    static boolean on;

    private Timer() {}

    // No test of `on`: it would be one more branch in every method, and `exit` tests it.
    /**
     * Begins a call.
     *
     * @return the time, for {@link #exit}
     */
    public static long enter() {
        return Clock.start();
    }

    /**
     * Returns the time at which a call ends.
     *
     * @return the time; 0 if nothing is to be recorded
     */
    @DontInline
    public static long end() {
        return on ? Clock.now() : 0L;
    }

    /**
     * Ends and records a call that {@link #enter()} began. Never inlined: beside the clock a call costs nothing, and thousands of
     * copies would keep the JIT busy while the application starts.
     *
     * @param start what {@link #enter} returned
     * @param id the number of the probe, {@link Target#id()}
     */
    @DontInline
    public static void exit(long start, int id) {
        if (on) Recorder.record(start, Clock.now(), id);
    }
}
