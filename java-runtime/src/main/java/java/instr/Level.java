package java.instr;

/** How much an instrumented method records. */
public enum Level {
    /** A guard only: nothing is recorded until the guard is armed. */
    OFF,
    /** Records calls during which the tick moved: every call longer than a tick, and a sample of the rest. */
    WATCH,
    /** Records the exact start and duration of every call. */
    TIME,
    /** Time and whatever else the template notes: with metrics, what runs and is stalled, exceptions, processor time, bytes. */
    FULL
}
