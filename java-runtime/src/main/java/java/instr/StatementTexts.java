package java.instr;

import jdk.internal.vm.annotation.DontInline;

/**
 * The probe of database statements for diagnoses: it tells {@link Sites} which text a statement had that a measured call has executed, and how long
 * that took. Records nothing. None of these methods throws anything.
 */
public final class StatementTexts {
    private static final Statements.Prepared TEXTS = new Statements.Prepared();

    private StatementTexts() {}

    /**
     * Begins a statement.
     *
     * @return when; 0 if no diagnosis wants to know its text
     */
    public static long enter() {
        return Sites.wantTexts() == 0L ? 0L : entered();
    }

    @DontInline
    private static long entered() {
        try {
            return Sites.isMeasuredForTexts() ? Clock.now() : 0L;
        } catch (Throwable noStack) {
            return 0L;
        }
    }

    /**
     * Ends a statement that has its text.
     *
     * @param start what {@link #enter} returned
     * @param text the SQL text; anything but a String is unknown
     */
    public static void exit(long start, Object text) {
        if (start != 0L) ended(start, text, null);
    }

    /**
     * Ends a prepared statement.
     *
     * @param start what {@link #enter} returned
     * @param statement the prepared statement
     */
    public static void exitPrepared(long start, Object statement) {
        if (start != 0L) ended(start, null, statement);
    }

    @DontInline
    private static void ended(long start, Object text, Object statement) {
        try {
            long now = Clock.now();
            Object known = statement == null ? text : prepared(statement);
            Sites.noteStatement(start, now, known instanceof String ? (String) known : null);
        } catch (Throwable noMemoryOrStack) {
            // The statement has no text then.
        }
    }

    private static String prepared(Object statement) {
        String text = TEXTS.of(statement);
        return text == null ? Statements.prepared(statement) : text;
    }

    /**
     * Remembers what a prepared statement will execute, as long as a diagnosis wants texts.
     *
     * @param statement the prepared statement
     * @param text the SQL text; anything but a String is unknown
     */
    public static void remember(Object statement, Object text) {
        if (Sites.wantTexts() == 0L) return;
        try {
            TEXTS.remember(statement, text);
        } catch (Throwable noMemoryOrStack) {
            // The statement has no text then.
        }
    }

    /** Forgets what has been remembered, if no diagnosis wants texts any more. */
    static void forget() {
        if (Sites.wantTexts() == 0L) TEXTS.clear();
    }

    /** How long one text was executed by statements within one measured call, at one of its cells. */
    static final class Executed {
        private static final int MOST = 16;
        private static final int MOST_LETTERS = 4_000;

        final int cell;
        /** Null if it is unknown. */
        final String text;
        int calls;
        long time;
        /** The next of the same measured call. */
        Executed next;

        /** When it has ended last, and how long that took. */
        private long ended;
        private long last;

        private Executed(int cell, String text) {
            this.cell = cell;
            this.text = text;
        }

        /**
         * Adds a statement that has ended. What it contains has been added already, and counts once: a pool's statement executes the driver's. If it has no
         * text itself, it has that of the statement within it.
         */
        static Executed add(Executed first, int cell, long start, long end, String text) {
            String known = text;
            for (Executed of = first; of != null; of = of.next) {
                if (of.cell != cell || of.last == 0L || of.ended <= start) continue;
                of.time -= of.last;
                of.calls--;
                of.last = 0L;
                if (known == null) known = of.text;
            }
            String cut = known == null || known.length() <= MOST_LETTERS ? known : known.substring(0, MOST_LETTERS);
            Executed found = null;
            Executed shortest = null;
            int count = 0;
            for (Executed of = first; of != null && found == null; of = of.next, count++) {
                if (of.cell == cell && (cut == null ? of.text == null : cut.equals(of.text))) found = of;
                if (shortest == null || of.time < shortest.time) shortest = of;
            }
            Executed result = first;
            if (found == null) {
                if (count >= MOST) result = without(first, shortest);
                found = new Executed(cell, cut);
                found.next = result;
                result = found;
            }
            found.calls++;
            found.last = Math.max(end - start, 1L);
            found.time += found.last;
            found.ended = end;
            return result;
        }

        private static Executed without(Executed first, Executed left) {
            if (first == left) return first.next;
            Executed before = first;
            while (before.next != left) before = before.next;
            before.next = left.next;
            return first;
        }
    }
}
