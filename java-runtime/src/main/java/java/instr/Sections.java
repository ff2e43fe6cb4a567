package java.instr;

import java.util.concurrent.ConcurrentHashMap;
import jdk.internal.misc.Unsafe;

/** Parts of methods that the application marks itself, with {@code io.instr.api.Section}. */
public final class Sections {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final int MOST_NAMES = 10_000;
    private static final int MAX_NAME = 200;
    private static final String UNNAMED = "(no name)";
    private static final String FURTHER = "(further sections)";

    /** Numbers of names. Text only: nothing here belongs to an application. */
    private static final ConcurrentHashMap<String, Integer> NUMBERS = new ConcurrentHashMap<>();

    private Sections() {}

    /** The number under which a section of this name, in UTF-8, is recorded; 0 if there are no more numbers. */
    private static native int register(long name, int bytes);

    /**
     * A section begins.
     *
     * @param state a {@code long[2]} of the section: start and thread
     */
    public static void begun(Object state) {
        if (!Timer.on || !(state instanceof long[])) return;
        long[] section = (long[]) state;
        section[1] = U.getLong(Thread.currentThread(), Ring.THREAD_ID);
        section[0] = Clock.now();
    }

    /** A section ends; only the first end counts, and only on the thread of the begin. */
    public static void ended(Object state, Object name) {
        if (!(state instanceof long[])) return;
        long[] section = (long[]) state;
        long start = section[0];
        if (start == 0L || section[1] != U.getLong(Thread.currentThread(), Ring.THREAD_ID)) return;
        section[0] = 0L;
        if (!Timer.on) return;
        long end = Clock.now();
        int id = number(name instanceof String ? (String) name : UNNAMED);
        if (id != 0) Recorder.record(start, end, id);
    }

    private static int number(String name) {
        Integer known = NUMBERS.get(name);
        if (known != null) return known;
        if (NUMBERS.size() >= MOST_NAMES && !name.equals(FURTHER)) return number(FURTHER);
        int bytes = Utf8.length(name, MAX_NAME);
        long at = U.allocateMemory(bytes + 1L);
        try {
            Utf8.write(name, MAX_NAME, at);
            int number = register(at, bytes);
            NUMBERS.put(name, number);
            return number;
        } finally {
            U.freeMemory(at);
        }
    }
}
