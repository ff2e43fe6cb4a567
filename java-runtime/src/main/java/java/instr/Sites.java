package java.instr;

/**
 * The probe of call sites: the time that a call spends in chosen calls of its own body. The engine inserts {@link #begin} before and {@link
 * #end} after each of these calls, and {@link #caught} where an exception handler begins that covers one.
 *
 * <p>An exception may leave a site open. The next {@code begin} of the same scope, {@code caught} or {@link #exit} closes it: handlers that
 * cover themselves, such as that of a {@code synchronized} block, have no {@code caught}. None of these methods throws.
 *
 * <p>No scope is handed out yet, so the sites have nothing to do.
 */
public final class Sites {
    /** The scope of a call that is not measured. */
    private static final long NONE = 0L;

    /** Set while calls are measured. */
    static boolean on;

    private Sites() {}

    /**
     * Begins a call of a method with sites.
     *
     * @param id the number of the probe, {@link Target#id()}
     * @return the scope of the call; 0 if it is not measured
     */
    public static long enter(int id) {
        return on ? begun(id) : NONE;
    }

    private static long begun(int id) {
        return NONE;
    }

    /**
     * Begins a site.
     *
     * @param scope what {@link #enter} returned
     * @param site the number of the site
     */
    public static void begin(long scope, int site) {}

    /**
     * Ends a site whose call has returned.
     *
     * @param scope what {@link #enter} returned
     * @param site the number of the site
     */
    public static void end(long scope, int site) {}

    /**
     * Closes the site that an exception has left open, if there is one. Called where an exception handler begins, and also if its first
     * instruction is reached without an exception.
     *
     * @param scope what {@link #enter} returned
     */
    public static void caught(long scope) {}

    /**
     * Ends a call that {@link #enter} began, normally or exceptionally, and closes the site that is still open.
     *
     * @param scope what {@link #enter} returned
     * @param id the number of the probe, {@link Target#id()}
     */
    public static void exit(long scope, int id) {}
}
