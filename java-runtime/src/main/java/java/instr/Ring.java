package java.instr;

/**
 * Where one carrier thread writes its records: the position in the present segment of off-heap memory. Only that thread
 * touches the fields; the agent reads the header that {@link #publish} writes.
 */
final class Ring {
    /** Low 24 bits zero: not an ordinary record. */
    private static final long THREAD = 1L << 24;
    private static final long END = 4L << 24;
    private static final long THREAD_NAME = 5L << 24;
    private static final int MAX_NAME = 200;

    /** Address of {position, end, lost}, which the agent reads. */
    final long header;
    long position;
    long end;
    /** Java thread id to which the following records belong; 0 before the first. */
    long thread;
    private long lost;

    Ring(long header) {
        this.header = header;
        // As if full: the first record goes through prepare, which notes the thread.
        this.position = Recorder.U.getLong(header);
        this.end = position;
    }

    /** Makes everything before {@code next} visible to the agent. */
    void publish(long next) {
        position = next;
        Recorder.U.putLongRelease(null, header, next);
    }

    /**
     * Makes room for a record, in a new segment if need be, and notes which thread the record belongs to.
     *
     * @return the address to write to, or 0 if no segment is free: the record is lost, and counted
     */
    long prepare(int bytes) {
        Thread current = Thread.currentThread();
        long id = Recorder.U.getLong(current, Recorder.THREAD_ID);
        boolean moved = id != thread;
        String name = moved && !Recorder.isVirtual(current) ? current.getName() : null;
        int needed = bytes + (moved ? 16 + nameBytes(name) : 0);
        if (thread == 0) end = Recorder.U.getLong(header + 8);
        if (end - position < needed && !nextSegment(needed)) {
            Recorder.U.putLongRelease(null, header + 16, ++lost);
            return 0;
        }
        if (moved) noteThread(id, name);
        return position;
    }

    private boolean nextSegment(int needed) {
        if (position < end) {
            Recorder.U.putLong(position, 0);
            Recorder.U.putLong(position + 8, END);
            publish(position + 16);
        }
        Recorder.next(header);
        position = Recorder.U.getLong(header);
        end = Recorder.U.getLong(header + 8);
        return end - position >= needed;
    }

    private void noteThread(long id, String name) {
        long at = position;
        Recorder.U.putLong(at, id);
        Recorder.U.putLong(at + 8, THREAD | (name == null ? 1L << 32 : 0));
        at += 16;
        if (name != null) {
            int length = Utf8.length(name, MAX_NAME);
            Recorder.U.putLong(at, id);
            Recorder.U.putLong(at + 8, (long) length << 32 | THREAD_NAME);
            Utf8.write(name, MAX_NAME, at + 16);
            at += nameBytes(name);
        }
        thread = id;
        publish(at);
    }

    private static int nameBytes(String name) {
        return name == null ? 0 : 16 + Utf8.padded(Utf8.length(name, MAX_NAME));
    }
}
