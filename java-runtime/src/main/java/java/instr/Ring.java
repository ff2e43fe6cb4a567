package java.instr;

import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.DontInline;

/**
 * Where one carrier thread writes its records: a segment of off-heap memory, described by a header in a table that the agent
 * reads, too. Only the owner writes a header. A ring is nothing but the address of its header: no object, no thread-local,
 * because whatever has to be read before a record can be written delays the next reading of the clock (decision 013).
 */
final class Ring {
    static final Unsafe U = Unsafe.getUnsafe();
    static final long THREAD_ID = U.objectFieldOffset(Thread.class, "tid");

    /** The words of a header: id of the carrier thread, ... */
    private static final int OWNER = 0;
    /** ... where the next record goes, ... */
    static final int POSITION = 8;
    /** ... the end of the segment, ... */
    static final int END = 16;
    /** ... how many records found no room, ... */
    private static final int LOST = 24;
    /** ... and the thread, perhaps a virtual one, to which the following records belong; 0 before the first. */
    static final int THREAD = 32;

    /** Log2 of the bytes from header to header. */
    private static final int STRIDE = 7;
    private static final long MASK = 0x1fffL;
    /** A thread whose place was taken has one of the next. */
    private static final int PLACES = 4;

    /** Low 24 bits zero: not an ordinary record. */
    private static final long THREAD_RECORD = 1L << 24;
    private static final long END_RECORD = 4L << 24;
    private static final long THREAD_NAME = 5L << 24;
    private static final int MAX_NAME = 200;
    private static final String ATTACHING = "(being attached)";

    /** Super class of all virtual threads; null before JDK 21. */
    private static final Class<?> VIRTUAL_THREAD = find("java.lang.BaseVirtualThread");
    private static final boolean VIRTUAL_THREADS = VIRTUAL_THREAD != null;
    private static final long TABLE = table();

    static {
        // Now, while no probe is on: a probe inside its own class initialiser would find half of it.
        if (VIRTUAL_THREADS) Carrier.current();
    }

    private Ring() {}

    /** The address of the first of the headers. */
    private static native long table();

    /** The header of the calling thread, which gets one if it has none. */
    private static native long open(long carrier);

    /** Puts a free segment into the header, if there is one, and hands the full one to the agent. */
    private static native void next(long header);

    /** The ring of this carrier thread. */
    static long current() {
        long carrier = U.getLong(VIRTUAL_THREADS ? Carrier.current() : Thread.currentThread(), THREAD_ID);
        long header = TABLE + ((carrier & MASK) << STRIDE);
        return U.getLong(header + OWNER) == carrier ? header : elsewhere(header, carrier);
    }

    /** Whether the ring has no room for another short record, or the record would be taken for another thread's. */
    static boolean mustPrepare(long ring, long at) {
        return at == U.getLong(ring + END)
                || VIRTUAL_THREADS && U.getLong(Thread.currentThread(), THREAD_ID) != U.getLong(ring + THREAD);
    }

    @DontInline
    private static long elsewhere(long home, long carrier) {
        long end = TABLE + (MASK + 1 << STRIDE);
        for (int place = 1; place < PLACES; place++) {
            long header = home + (place << STRIDE);
            if (header < end && U.getLong(header + OWNER) == carrier) return header;
        }
        return open(carrier);
    }

    /** Makes everything before {@code next} visible to the agent. */
    static void publish(long ring, long next) {
        U.putLongRelease(null, ring + POSITION, next);
    }

    /**
     * Makes room for a record, in a new segment if need be, and notes which thread the record belongs to.
     *
     * @return the address to write to, or 0 if no segment is free: the record is lost, and counted
     */
    @DontInline
    static long prepare(long ring, int bytes) {
        Thread current = Thread.currentThread();
        long named = U.getLong(current, THREAD_ID);
        // A thread that is being attached has no id yet; until it has one, the address of its ring identifies it.
        long id = named == 0 ? ring : named;
        boolean moved = id != U.getLong(ring + THREAD);
        String name = !moved || isVirtual(current) ? null : named == 0 ? ATTACHING : current.getName();
        int needed = bytes + (moved ? 16 + nameBytes(name) : 0);
        if (room(ring) < needed && !nextSegment(ring, needed)) {
            U.putLongRelease(null, ring + LOST, U.getLong(ring + LOST) + 1);
            return 0;
        }
        if (moved) noteThread(ring, id, name);
        return U.getLong(ring + POSITION);
    }

    private static long room(long ring) {
        return U.getLong(ring + END) - U.getLong(ring + POSITION);
    }

    private static boolean nextSegment(long ring, int needed) {
        if (room(ring) > 0) {
            long at = U.getLong(ring + POSITION);
            U.putLong(at, 0);
            U.putLong(at + 8, END_RECORD);
            // As a whole: if the stack overflows before there is another segment, nothing is written after the end.
            publish(ring, U.getLong(ring + END));
        }
        next(ring);
        return room(ring) >= needed;
    }

    private static void noteThread(long ring, long id, String name) {
        long at = U.getLong(ring + POSITION);
        U.putLong(at, id);
        U.putLong(at + 8, THREAD_RECORD | (name == null ? 1L << 32 : 0));
        at += 16;
        if (name != null) {
            int length = Utf8.length(name, MAX_NAME);
            U.putLong(at, id);
            U.putLong(at + 8, (long) length << 32 | THREAD_NAME);
            Utf8.write(name, MAX_NAME, at + 16);
            at += nameBytes(name);
        }
        // Last: if the stack overflows before, the next record notes the thread again.
        publish(ring, at);
        U.putLong(ring + THREAD, id);
    }

    private static int nameBytes(String name) {
        return name == null ? 0 : 16 + Utf8.padded(Utf8.length(name, MAX_NAME));
    }

    static boolean isVirtual(Thread thread) {
        if (!VIRTUAL_THREADS) return false;
        Class<?> type = thread.getClass();
        return type.getSuperclass() == VIRTUAL_THREAD;
    }

    private static Class<?> find(String name) {
        try {
            return Class.forName(name, false, null);
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }
}
