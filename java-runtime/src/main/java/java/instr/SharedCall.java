package java.instr;

/**
 * A call of a diagnosed method whose tasks are measured on the threads that run them, see {@link Sites}.
 *
 * <p>Tasks are measured by a clock of the call: it goes on while the call waits at the cell below which the tasks are, and by its number of running tasks more slowly.
 * So the times of all tasks together are never longer than the call has waited.
 */
final class SharedCall {
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
    private volatile Clocked clock = new Clocked(0L, 0L, false, 0);

    SharedCall(int frame, int diagnosis, long round, long start) {
        this.frame = frame;
        this.diagnosis = diagnosis;
        this.round = round;
        this.start = start;
    }

    /** The time of the call's clock, at a time of the clock of probes. */
    long at(long now) {
        return clock.at(now);
    }

    /** The call begins or ends to wait where its tasks are measured. */
    synchronized void waits(boolean waits, long now) {
        Clocked before = clock;
        if (before.waits != waits && !hasEnded) clock = new Clocked(before.at(now), now, waits, before.running);
    }

    /** A task begins; returns false if the call has ended. */
    synchronized boolean taskBegins(long now) {
        Clocked before = clock;
        if (!hasEnded) clock = new Clocked(before.at(now), now, before.waits, before.running + 1);
        return !hasEnded;
    }

    synchronized void taskEnds(long now) {
        Clocked before = clock;
        if (!hasEnded) clock = new Clocked(before.at(now), now, before.waits, before.running - 1);
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
        clock = new Clocked(clock.before, 0L, false, 0);
        return used;
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

    /** How the clock goes since a moment. */
    private static final class Clocked {
        final long before;
        final long since;
        final boolean waits;
        final int running;

        Clocked(long before, long since, boolean waits, int running) {
            this.before = before;
            this.since = since;
            this.waits = waits;
            this.running = running;
        }

        long at(long now) {
            return waits && running > 0 && now > since ? before + (now - since) / running : before;
        }
    }
}
