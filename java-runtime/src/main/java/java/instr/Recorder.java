package java.instr;

import jdk.internal.misc.Unsafe;

/**
 * Writes one record for each call into the ring of the carrier thread. The agent drains the rings in native code, without
 * JNI and without safepoints; nothing here ever waits for it.
 */
public final class Recorder {
    static final Unsafe U = Unsafe.getUnsafe();
    static final long THREAD_ID = U.objectFieldOffset(Thread.class, "tid");
    /** Super class of all virtual threads; null before JDK 21. */
    private static final Class<?> VIRTUAL_THREAD = find("java.lang.BaseVirtualThread");
    private static final boolean VIRTUAL_THREADS = VIRTUAL_THREAD != null;
    /** Set by {@link CarrierRings} when it is initialised: naming that class here would load it on JDKs that cannot. */
    static ThreadLocal<Ring> carrierRings;
    private static final ThreadLocal<Ring> RINGS = newRings();

    private static final long LONG = 2L << 24;
    private static final long DETAIL = 3L << 24;
    private static final int MAX_TEXT = 4000;

    private Recorder() {}

    /** Gives the present carrier thread a ring: the address of its header. */
    static native long open(long threadId, String threadName, boolean virtual);

    /** Puts a free segment into the header, if there is one, and hands the full one to the agent. */
    static native void next(long header);

    /** Switches all probes on. */
    static void start() {
        Watch.tick = System.nanoTime();
        Timer.on = true;
    }

    /** Switches all probes off at once; those that are running record nothing any more. */
    static void stop() {
        Timer.on = false;
        Guard.armed = false;
        Watch.tick = 0;
    }

    static boolean isVirtual(Thread thread) {
        if (!VIRTUAL_THREADS) return false;
        Class<?> type = thread.getClass();
        return type.getSuperclass() == VIRTUAL_THREAD;
    }

    static Ring openRing() {
        Thread thread = Thread.currentThread();
        boolean virtual = isVirtual(thread);
        return new Ring(open(U.getLong(thread, THREAD_ID), virtual ? null : thread.getName(), virtual));
    }

    /** Notes a call: 16 bytes, about a nanosecond. */
    static void record(long start, long end, int id) {
        Ring ring = RINGS.get();
        long at = ring.position;
        if (at == ring.end || VIRTUAL_THREADS && U.getLong(Thread.currentThread(), THREAD_ID) != ring.thread) {
            at = ring.prepare(16);
            if (at == 0) return;
        }
        long duration = end - start;
        if (duration >>> 40 != 0) {
            recordLong(ring, start, duration, id);
            return;
        }
        U.putLong(at, start);
        U.putLong(at + 8, duration << 24 | id);
        ring.position = at + 16;
        U.putLongRelease(null, ring.header, at + 16);
    }

    /** A call of more than 18 minutes: the duration does not fit beside the id. */
    private static void recordLong(Ring ring, long start, long duration, int id) {
        long at = ring.prepare(32);
        if (at == 0) return;
        U.putLong(at, start);
        U.putLong(at + 8, LONG);
        U.putLong(at + 16, duration);
        U.putLong(at + 24, id);
        ring.publish(at + 32);
    }

    /**
     * Notes a call with a text and a number.
     *
     * @param kind 'J' statement, 'H' HTTP request, 'S' socket
     * @param first the text, or the part before a NUL
     * @param second the part behind the NUL; may be null
     */
    static void recordDetail(long start, int id, char kind, String first, String second, long number) {
        long duration = System.nanoTime() - start;
        int length = 1 + Utf8.length(first, MAX_TEXT) + (second == null ? 0 : 1 + Utf8.length(second, MAX_TEXT));
        int size = 32 + Utf8.padded(length);
        Ring ring = RINGS.get();
        long at = ring.prepare(size);
        if (at == 0) return;
        U.putLong(at, start);
        U.putLong(at + 8, (long) length << 32 | DETAIL);
        U.putLong(at + 16, duration);
        U.putLong(at + 24, number << 32 | id);
        U.putByte(at + 32, (byte) kind);
        long behind = Utf8.write(first, MAX_TEXT, at + 33);
        if (second != null) {
            U.putByte(behind, (byte) 0);
            Utf8.write(second, MAX_TEXT, behind + 1);
        }
        ring.publish(at + size);
    }

    private static Class<?> find(String name) {
        try {
            return Class.forName(name, false, null);
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }

    private static ThreadLocal<Ring> newRings() {
        if (!VIRTUAL_THREADS) return new ThreadRings();
        try {
            Class.forName("java.instr.CarrierRings", true, null);
        } catch (ClassNotFoundException undefined) {
            throw new NoClassDefFoundError(undefined.getMessage());
        }
        return carrierRings;
    }
}
