package java.instr;

import jdk.internal.misc.Unsafe;

/**
 * Writes one record for each call into the ring of the carrier thread. The agent drains the rings in native code, without
 * JNI and without safepoints; nothing here ever waits for it.
 */
public final class Recorder {
    /** Initialises {@link Ring}, too, before {@link #start} lets the first probe in. */
    private static final Unsafe U = Ring.U;
    private static final long LONG = 2L << 24;
    private static final long DETAIL = 3L << 24;
    private static final int MAX_TEXT = 4000;

    /** Steps of a task, see {@link Tasks}. */
    static final long TASK_HANDED_OVER = 10L << 24;
    static final long TASK_BEGINS = 11L << 24;
    static final long TASK_ENDS = 12L << 24;
    static final long THREAD_STARTS = 13L << 24;

    private Recorder() {}

    /**
     * Initialises a class of the runtime, while no probe is on. If a probe did, near the end of the application's stack, an overflow within the
     * initialiser would make the class unusable for good (JVMS 5.5), and every later call of the probe would fail.
     */
    static void initialise(Class<?> ofRuntime) {
        U.ensureClassInitialized(ofRuntime);
    }

    /** Gets the probes ready whose level can change. */
    static void warmUp() {
        Live.warmUp();
    }

    /** Switches all probes on. */
    static void start() {
        Watch.tick = (double) Clock.now();
        Timer.on = true;
    }

    /** Switches all probes off at once; those that are running record nothing any more. */
    static void stop() {
        Timer.on = false;
        Watch.tick = 0;
    }

    /** Notes a call: 16 bytes, about a nanosecond. */
    static void record(long start, long end, int id) {
        long ring = Ring.current();
        long at = U.getLong(ring + Ring.POSITION);
        if (Ring.mustPrepare(ring, at)) {
            at = Ring.prepare(ring, 16);
            if (at == 0) return;
        }
        long duration = end - start;
        if (duration >>> 40 != 0) {
            recordLong(ring, start, duration, id);
            return;
        }
        U.putLong(at, start);
        U.putLong(at + 8, duration << 24 | id);
        Ring.publish(ring, at + 16);
    }

    /** A call of so many minutes that its duration does not fit beside the id: 18 of the system's clock, 4 of a counter at 4 GHz. */
    private static void recordLong(long ring, long start, long duration, int id) {
        long at = Ring.prepare(ring, 32);
        if (at == 0) return;
        U.putLong(at, start);
        U.putLong(at + 8, LONG);
        U.putLong(at + 16, duration);
        U.putLong(at + 24, id);
        Ring.publish(ring, at + 32);
    }

    /** Records a step of the task, or of the thread, with this number. */
    static void recordTask(long step, int task) {
        long now = Clock.now();
        long ring = Ring.current();
        long at = U.getLong(ring + Ring.POSITION);
        if (Ring.mustPrepare(ring, at)) {
            at = Ring.prepare(ring, 16);
            if (at == 0) return;
        }
        U.putLong(at, now);
        U.putLong(at + 8, (long) task << 32 | step);
        Ring.publish(ring, at + 16);
    }

    /**
     * Notes a call with texts and a number.
     *
     * @param kind 'J' statement, 'H' HTTP request that is answered, 'C' one that is sent, 'S' socket; in lower case within another of its kind
     * @param texts written with a NUL between them
     */
    static void recordDetail(long start, long end, int id, char kind, long number, String... texts) {
        long duration = end - start;
        int length = texts.length;
        for (String text : texts) length += Utf8.length(text, MAX_TEXT);
        int size = 32 + Utf8.padded(length);
        long ring = Ring.current();
        long at = Ring.prepare(ring, size);
        if (at == 0) return;
        U.putLong(at, start);
        U.putLong(at + 8, (long) length << 32 | DETAIL);
        U.putLong(at + 16, duration);
        U.putLong(at + 24, number << 32 | id);
        // The kind takes the place of a NUL before the first text.
        byte before = (byte) kind;
        long next = at + 32;
        for (String text : texts) {
            U.putByte(next, before);
            next = Utf8.write(text, MAX_TEXT, next + 1);
            before = 0;
        }
        Ring.publish(ring, at + size);
    }
}
