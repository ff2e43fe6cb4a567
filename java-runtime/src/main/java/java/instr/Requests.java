package java.instr;

/** HTTP requests that the application answers. */
public final class Requests {
    private Requests() {}

    /** The end of a request. */
    public static void exit(long start, int id, String method, String path, int status) {
        if (start == 0L || !Timer.on) return;
        Recorder.recordDetail(start, id, 'H', method == null ? "" : method, path == null ? "" : path, status);
    }

    /** The end of a request that {@link Live} began, at a time that {@link Live#end} gave; 0 if it is not recorded. */
    public static void exitLive(long start, long end, int id, String method, String path, int status, Throwable thrown) {
        try {
            if (end != 0L) {
                String known = method == null ? "" : method;
                Recorder.recordDetail(
                        Live.began(start), end, Live.number(start, id), 'H', known, path == null ? "" : path, status);
            }
        } finally {
            Live.close(start, id, thrown);
        }
    }
}
