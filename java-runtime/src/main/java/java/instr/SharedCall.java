package java.instr;

/**
 * A call of a diagnosed method whose tasks are measured on the threads that run them, see {@link Sites}.
 *
 * <p>Tasks are measured by a clock of the call: it goes on while the call waits at the cell below which the tasks are, and by its number of running tasks more slowly.
 * So the times of all tasks together are never longer than the call has waited.
 */
final class SharedCall {
    private static final int MOST_TEXTS = 64;

    final int frame;
    final int diagnosis;
    final long round;
    final long start;

    /** The cells that tasks have used, with their sums. */
    private int[] cells = new int[4];
    private int[] calls = new int[4];
    private long[] times = new long[4];
    private int used;

    private boolean hasEnded;
    /** The clock: how far it has gone up to a moment, since when it goes on if the call waits, and for how many tasks. Changed without memory, at the ends of tasks, too. */
    private long before;
    private long since;
    private boolean waits;
    private int running;
    /** What statements within tasks that have ended have executed. */
    private StatementTexts.Executed texts;
    private int numberOfTexts;

    SharedCall(int frame, int diagnosis, long round, long start) {
        this.frame = frame;
        this.diagnosis = diagnosis;
        this.round = round;
        this.start = start;
    }

    /** The time of the call's clock, at a time of the clock of probes. */
    synchronized long at(long now) {
        return waits && running > 0 && now > since ? before + (now - since) / running : before;
    }

    private void goTo(long now) {
        before = at(now);
        since = now;
    }

    /** The call begins or ends to wait where its tasks are measured. */
    synchronized void waits(boolean waits, long now) {
        if (this.waits == waits || hasEnded) return;
        goTo(now);
        this.waits = waits;
    }

    /** A task begins; returns false if the call has ended. */
    synchronized boolean taskBegins(long now) {
        if (hasEnded) return false;
        goTo(now);
        running++;
        return true;
    }

    synchronized void taskEnds(long now) {
        if (hasEnded) return;
        goTo(now);
        running--;
    }

    /** Adds what a task has measured at a cell. What outlives the call does not count. */
    synchronized void add(int cell, int addedCalls, long time) {
        if (hasEnded) return;
        int at = 0;
        while (at < used && cells[at] != cell) at++;
        if (at == cells.length) {
            cells = java.util.Arrays.copyOf(cells, 2 * at);
            calls = java.util.Arrays.copyOf(calls, 2 * at);
            times = java.util.Arrays.copyOf(times, 2 * at);
        }
        if (at == used) {
            cells[at] = cell;
            used++;
        }
        calls[at] += addedCalls;
        times[at] += time;
    }

    /** The call ends: nothing is added any more. Returns how many cells its tasks have used. */
    synchronized int end() {
        hasEnded = true;
        waits = false;
        return used;
    }

    /** Adds what a task has executed, up to a limit. */
    synchronized void add(StatementTexts.Executed first) {
        StatementTexts.Executed next;
        for (StatementTexts.Executed of = first; of != null && !hasEnded && numberOfTexts < MOST_TEXTS; of = next) {
            next = of.next;
            of.next = texts;
            texts = of;
            numberOfTexts++;
        }
    }

    StatementTexts.Executed texts() {
        return texts;
    }

    int cell(int at) {
        return cells[at];
    }

    int calls(int at) {
        return calls[at];
    }

    long time(int at) {
        return times[at];
    }
}
