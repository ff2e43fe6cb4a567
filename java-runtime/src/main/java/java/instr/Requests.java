package java.instr;

/** HTTP requests that the application answers. */
public final class Requests {
    private Requests() {}

    /** The end of a request. */
    public static void exit(long start, int id, String method, String path, int status) {
        if (start == 0L || !Timer.on) return;
        Recorder.recordDetail(start, id, 'H', method == null ? "" : method, path == null ? "" : path, status);
    }
}
