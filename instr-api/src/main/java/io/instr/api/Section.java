package io.instr.api;

/**
 * A part of a method that is timed under a name of its own, from {@link #begin} to {@link #end()} on the same thread:
 *
 * <pre>
 * try (Section section = Section.begin("load prices")) {
 *     ...
 * }
 * </pre>
 *
 * <p>Without the agent, or without {@code preset = "api"} in its configuration, nothing is measured. Names are kinds of work,
 * not cases: after ten thousand different ones all others share a name.
 */
public final class Section implements AutoCloseable {
    private final String name;
    /** Start and thread, kept by the agent; the start is 0 while nothing is measured. */
    private final long[] state = new long[2];

    private Section(String name) {
        this.name = name;
    }

    /** Begins a section; it may be null, which is a section without a name. */
    public static Section begin(String name) {
        Section section = new Section(name);
        begun(section.state);
        return section;
    }

    /** Ends the section. Further calls, and calls on another thread, are ignored. */
    public void end() {
        ended(state, name);
    }

    /** The same as {@link #end()}, for try-with-resources. */
    @Override
    public void close() {
        end();
    }

    /** The agent's place. */
    private static void begun(long[] state) {}

    /** The agent's place. */
    private static void ended(long[] state, String name) {}
}
