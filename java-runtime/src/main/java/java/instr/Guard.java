package java.instr;

/** The probe of level {@code off}: a test of one flag, until somebody arms it. */
public final class Guard {
    /** Set to time the methods at level off, too. */
    static boolean armed;

    private Guard() {}

    /** The start, or 0 while not armed. */
    public static long enter() {
        return armed ? Clock.start() : 0L;
    }

    /** The end of a call that {@link #enter()} began. */
    public static void exit(long start, int id) {
        if (start != 0L) Timer.exit(start, id);
    }
}
