package java.instr;

/** HTTP requests that the application answers. */
public final class Requests {
    private Requests() {}

    /** The end of a request; {@code found} is what {@code nesting.requests} was at its begin. */
    public static void exit(long start, int id, String method, String path, int status, Nesting nesting, int found) {
        if (start == 0L || !Timer.on) return;
        record(start, Clock.now(), id, method, path, status, nesting.isInner(found));
    }

    /** The end of a request that {@link Live} began, at a time that {@link Live#end} gave; 0 if it is not recorded. */
    public static void exitLive(
            long start,
            long end,
            int id,
            String method,
            String path,
            int status,
            Throwable thrown,
            Nesting nesting,
            int found) {
        try {
            if (end != 0L) {
                boolean inner = nesting.isInner(found);
                record(Live.began(start), end, Live.number(start, id), method, path, status, inner);
            }
        } finally {
            Live.close(start, id, thrown);
        }
    }

    private static void record(long start, long end, int id, String method, String path, int status, boolean inner) {
        String known = method == null ? "" : method;
        Recorder.recordDetail(start, end, id, inner ? 'h' : 'H', known, path == null ? "" : path, status);
    }
}
