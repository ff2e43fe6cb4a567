package java.instr;

/** Database calls with the text of their statement. */
public final class Statements {
    private static final Remembered<String> TEXTS = new Remembered<>();

    private Statements() {}

    /**
     * Remembers what a prepared statement will execute, as long as the application keeps the statement.
     *
     * @param statement the prepared statement
     * @param text the SQL text; anything but a String is unknown
     */
    public static void remember(Object statement, Object text) {
        remember(TEXTS, statement, text);
    }

    /** Remembers the text of a statement, which may be null; a text that is anything but a String is unknown. */
    static void remember(Remembered<String> texts, Object statement, Object text) {
        if (statement != null && text instanceof String) texts.put(statement, (String) text);
    }

    /**
     * Ends and records a call that has its text.
     *
     * @param start what {@link Timer#enter} returned
     * @param id the number of the probe, {@link Target#id()}
     * @param text the SQL text; anything but a String is unknown
     * @param thrown what the call threw; may be null
     * @param nesting the state of the thread
     * @param found what {@code nesting.statements} was when the call began
     */
    public static void exit(long start, int id, Object text, Throwable thrown, Nesting nesting, int found) {
        String known = nesting.textOf(text, found);
        int driver = nesting.driverOf(id, found);
        if (start != 0L && Timer.on) record(start, Clock.now(), id, kind(nesting, found), driver, thrown, known);
    }

    /**
     * Ends and records a call of a prepared statement.
     *
     * @param start what {@link Timer#enter} returned
     * @param id the number of the probe, {@link Target#id()}
     * @param statement the prepared statement
     * @param thrown what the call threw; may be null
     * @param nesting the state of the thread
     * @param found what {@code nesting.statements} was when the call began
     */
    public static void exitPrepared(
            long start, int id, Object statement, Throwable thrown, Nesting nesting, int found) {
        exit(start, id, prepared(statement), thrown, nesting, found);
    }

    /**
     * Ends a call that {@link Live} began and that has its text.
     *
     * @param start what {@link Live#enter} returned
     * @param id the number of the probe, {@link Target#id()}
     * @param text the SQL text; anything but a String is unknown
     * @param thrown what the call threw; may be null
     * @param nesting the state of the thread
     * @param found what {@code nesting.statements} was when the call began
     */
    public static void exitLive(long start, int id, Object text, Throwable thrown, Nesting nesting, int found) {
        if (start == 0L) return;
        try {
            String known = nesting.textOf(text, found);
            int driver = nesting.driverOf(id, found);
            long end = Live.end(start);
            if (end != 0L) {
                int number = Live.number(start, id);
                record(Live.began(start), end, number, kind(nesting, found), driver, thrown, known);
            }
        } finally {
            Live.close(start, id, thrown);
        }
    }

    /**
     * Ends a call of a prepared statement that {@link Live} began.
     *
     * @param start what {@link Live#enter} returned
     * @param id the number of the probe, {@link Target#id()}
     * @param statement the prepared statement
     * @param thrown what the call threw; may be null
     * @param nesting the state of the thread
     * @param found what {@code nesting.statements} was when the call began
     */
    public static void exitPreparedLive(
            long start, int id, Object statement, Throwable thrown, Nesting nesting, int found) {
        if (start != 0L) exitLive(start, id, prepared(statement), thrown, nesting, found);
    }

    private static void record(
            long start, long end, int id, char kind, int driver, Throwable thrown, String text) {
        Recorder.recordDetail(start, end, id, kind, driver, thrown == null ? "" : thrown.getClass().getName(), text);
    }

    /** Returns the text of a prepared statement; null if it is unknown. */
    static String prepared(Object statement) {
        return TEXTS.get(statement);
    }

    private static char kind(Nesting nesting, int found) {
        return nesting.isInner(found) ? 'j' : 'J';
    }
}
