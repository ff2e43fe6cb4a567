package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Calls that are recorded with values which their rule chooses: arguments, receiver, result. A template asks for them with
 * {@link Target#captured()} only where the call is recorded, so that they cost other calls nothing.
 *
 * <p>Values that the rule renders as text run the application's own code, {@code toString}. It runs in the thread of the call, after
 * the call has ended; exceptions of it do not reach the application, and probed methods it calls are recorded without values.
 */
public final class Arguments {
    private static final Unsafe U = Unsafe.getUnsafe();

    /** Ids of the threads in which the application's code is asked for a text; 0 for a free place. */
    private static final long ASKING = U.allocateMemory(64 * 8);
    private static final int PLACES = 64;

    static {
        for (int place = 0; place < PLACES; place++) U.putLong(ASKING + (place << 3), 0L);
    }

    private Arguments() {}

    /**
     * Ends and records a call.
     *
     * @param start the time at which it began
     * @param end the time; 0 if the call is not to be recorded
     * @param id the number of the probe, {@link Target#id()}
     * @param values what {@link Target#captured()} returned; may be null
     * @param form what {@link Target#captureForm()} returned
     * @param thrown what the call threw; may be null
     */
    @DontInline
    public static void exit(long start, long end, int id, Object[] values, String form, Throwable thrown) {
        if (start == 0L || end == 0L || !Timer.on) return;
        if (values == null || form == null) {
            Recorder.record(start, end, id);
        } else if (ValueText.asksApplication(form)) {
            // Now, because calls in the application's code end later and must come later in the ring.
            Recorder.record(start, end, id);
            exitAsking(start, end, id, values, form, thrown);
        } else {
            String text = ValueText.of(values, form, thrown);
            if (text == null) Recorder.record(start, end, id);
            else Recorder.recordDetail(start, end, id, 'A', 0, text);
        }
    }

    /**
     * Ends a call that level full began.
     *
     * @param call what {@code Full.enter} returned
     * @param start the time at which it began
     * @param end the time; 0 if the call is not to be recorded
     * @param id the number of the probe, {@link Target#id()}
     * @param values what {@link Target#captured()} returned; may be null
     * @param form what {@link Target#captureForm()} returned
     * @param thrown what the call threw; may be null
     */
    @DontInline
    public static void exitFull(
            long call, long start, long end, int id, Object[] values, String form, Throwable thrown) {
        try {
            // Before the values become text, which is no time and no memory of the call.
            if (call != Full.NOT_COUNTED) Full.ended(call, id, thrown);
        } finally {
            exit(start, end, id, values, form, thrown);
        }
    }

    /**
     * Ends a call that {@link Live} began.
     *
     * @param start what {@link Live#enter} returned
     * @param end what {@link Live#end} returned
     * @param id the number of the probe, {@link Target#id()}
     * @param values what {@link Target#captured()} returned; may be null
     * @param form what {@link Target#captureForm()} returned
     * @param thrown what the call threw; may be null
     */
    @DontInline
    public static void exitLive(long start, long end, int id, Object[] values, String form, Throwable thrown) {
        long began = Live.began(start);
        try {
            Live.close(start, id, thrown);
        } finally {
            exit(began, end, Live.number(start, id), values, form, thrown);
        }
    }

    private static void exitAsking(long start, long end, int id, Object[] values, String form, Throwable thrown) {
        long thread = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        long place = takePlace(thread);
        if (place == 0L) return;
        String text;
        try {
            text = ValueText.of(values, form, thrown);
        } finally {
            U.putLongRelease(null, place, 0L);
        }
        if (text != null) Recorder.recordDetail(start, end, id, 'a', 0, text);
    }

    /** A place for this thread; 0 if it has one already, which means that a text asks for another, or none is free. */
    private static long takePlace(long thread) {
        if (thread == 0L) return 0L;
        for (int place = 0; place < PLACES; place++) {
            if (U.getLong(ASKING + (place << 3)) == thread) return 0L;
        }
        for (int place = 0; place < PLACES; place++) {
            long at = ASKING + (place << 3);
            if (U.getLong(at) == 0L && U.compareAndSetLong(null, at, 0L, thread)) return at;
        }
        return 0L;
    }
}
