package probe;

/** A timer object as in the oldest form of instrumentation: created with a name at the start, called at the end. */
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
