package probe;

/** A timer object as in the oldest form of instrumentation: made with a name at the start, told at the end. */
public final class Stopwatch {
    private final String name;

    public Stopwatch(String name) {
        this.name = name;
        Log.note("start-" + name);
    }

    public void end() {
        Log.note("end-" + name);
    }
}
