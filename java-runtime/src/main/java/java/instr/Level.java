package java.instr;

/** How much an instrumented method records. */
public enum Level {
    /** Nothing is recorded. Only a live probe can be switched on later. */
    OFF,
    /** Records calls during which the tick moved: every call longer than a tick, and a sample of the rest. */
    WATCH,
    /** Records the exact start and duration of every call. */
    TIME,
    /** Time and whatever else the template notes: with metrics, what runs and is stalled, exceptions, processor time, bytes. */
    FULL
}
