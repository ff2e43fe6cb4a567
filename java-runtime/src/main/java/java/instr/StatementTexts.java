package java.instr;

import jdk.internal.vm.annotation.DontInline;

/**
 * The probe of database statements for diagnoses and conditions: it reports to {@link Sites} the text of each statement that a measured call executes, and
 * how long that took, and remembers what is prepared. Records nothing. None of these methods throws anything.
 */
public final class StatementTexts {
    private static final Remembered<String> TEXTS = new Remembered<>();

    /** Not 0 as long as a condition looks at the text of statements; written by the agent. */
    static long conditions;

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
            return Sites.beginStatement();
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
            Sites.endStatement(start, now, known instanceof String ? (String) known : null);
        } catch (Throwable noMemoryOrStack) {
            // The statement has no text then.
        }
    }

    /** Returns the text of a prepared statement; null if it is unknown. The agent calls it, too. */
    static String prepared(Object statement) {
        String text = TEXTS.get(statement);
        return text == null ? Statements.prepared(statement) : text;
    }

    /**
     * Remembers what a prepared statement will execute, as long as a diagnosis or a condition wants texts.
     *
     * @param statement the prepared statement
     * @param text the SQL text; anything but a String is unknown
     */
    public static void remember(Object statement, Object text) {
        if (!areWanted()) return;
        try {
            Statements.remember(TEXTS, statement, text);
        } catch (Throwable noMemoryOrStack) {
            // The statement has no text then.
        }
    }

    /** Forgets what has been remembered, if nobody wants texts any more. */
    static void forget() {
        if (!areWanted()) TEXTS.clear();
    }

    private static boolean areWanted() {
        return conditions != 0L || Sites.wantTexts() != 0L;
    }

    /** How long one text was executed by statements within one measured call, at one of its cells. */
    static final class Executed {
        final int cell;
        /** Null if it is unknown. */
        final String text;
        int calls;
        long time;
        /** The next of the same measured call. */
        Executed next;

        Executed(int cell, String text) {
            this.cell = cell;
            this.text = text;
        }
    }

    /** What the statements within one measured call have executed. A statement within another one is a part of that: a pool's statement executes the driver's. */
    static final class InCall {
        private static final int MOST = 16;
        private static final int MOST_LETTERS = 4_000;

        Executed first;

        /** When the outermost open statement began, 0 if none is open; and the cell that was open then. */
        private long outermost;
        private int cell;
        /** Of the statements within it whose text is known: the one that took longest. */
        private String inner;
        private long innerTime;

        void begin(int openCell, long start) {
            if (outermost != 0L) return;
            outermost = start;
            cell = openCell;
            inner = null;
            innerTime = 0L;
        }

        /** Adds a statement that has ended, if it is the outermost one. If its text is unknown, it gets that of a statement within it. */
        void end(long start, long end, String text) {
            long time = Math.max(end - start, 1L);
            if (start == outermost) {
                outermost = 0L;
                add(text == null ? inner : text, time);
            } else if (text != null && time >= innerTime) {
                inner = text;
                innerTime = time;
            }
        }

        private void add(String text, long time) {
            String cut = text == null || text.length() <= MOST_LETTERS ? text : text.substring(0, MOST_LETTERS);
            Executed found = null;
            Executed shortest = null;
            int count = 0;
            for (Executed of = first; of != null && found == null; of = of.next, count++) {
                if (of.cell == cell && (cut == null ? of.text == null : cut.equals(of.text))) found = of;
                if (shortest == null || of.time < shortest.time) shortest = of;
            }
            if (found == null) {
                if (count >= MOST) remove(shortest);
                found = new Executed(cell, cut);
                found.next = first;
                first = found;
            }
            found.calls++;
            found.time += time;
        }

        private void remove(Executed removed) {
            if (first == removed) {
                first = removed.next;
                return;
            }
            Executed before = first;
            while (before.next != removed) before = before.next;
            before.next = removed.next;
        }
    }
}
