package java.instr;

import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.concurrent.ConcurrentHashMap;

/** Database calls with the text of their statement. */
public final class Statements {
    private static final int MAX_REMEMBERED = 100_000;
    private static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();
    private static final ConcurrentHashMap<Key, String> TEXTS = new ConcurrentHashMap<>();

    private Statements() {}

    /** Remembers what a prepared statement will execute, as long as the application keeps the statement. */
    public static void remember(Object statement, Object text) {
        forgetGone();
        if (statement != null && text instanceof String && TEXTS.size() < MAX_REMEMBERED) {
            TEXTS.put(new Key(statement, GONE), (String) text);
        }
    }

    /** The end of a call that was given its text. */
    public static void exit(long start, int id, Object text) {
        if (start == 0L || !Timer.on) return;
        Recorder.recordDetail(start, id, 'J', text instanceof String ? (String) text : "", null, 0);
    }

    /** The end of a call that {@link Live} began and that was given its text. */
    public static void exitLive(long start, int id, Object text, Throwable thrown) {
        if (start != 0L) end(start, id, text, thrown);
    }

    /** The end of a call of a prepared statement that {@link Live} began. */
    public static void exitPreparedLive(long start, int id, Object statement, Throwable thrown) {
        if (start != 0L) end(start, id, TEXTS.get(new Key(statement, null)), thrown);
    }

    private static void end(long start, int id, Object text, Throwable thrown) {
        try {
            long end = Live.end(start);
            if (end != 0L) {
                String known = text instanceof String ? (String) text : "";
                Recorder.recordDetail(Live.began(start), end, Live.number(start, id), 'J', known, null, 0);
            }
        } finally {
            Live.close(start, id, thrown);
        }
    }

    /** The end of a call of a prepared statement. */
    public static void exitPrepared(long start, int id, Object statement) {
        if (start == 0L || !Timer.on) return;
        String text = TEXTS.get(new Key(statement, null));
        exit(start, id, text);
    }

    private static void forgetGone() {
        for (Object key = GONE.poll(); key != null; key = GONE.poll()) TEXTS.remove(key);
    }

    /** Compares by identity: the equals of a statement is the driver's code. */
    private static final class Key extends WeakReference<Object> {
        private final int hash;

        Key(Object statement, ReferenceQueue<Object> queue) {
            super(statement, queue);
            hash = System.identityHashCode(statement);
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            if (this == other) return true;
            Object statement = get();
            return statement != null && other instanceof Key && ((Key) other).get() == statement;
        }
    }
}
