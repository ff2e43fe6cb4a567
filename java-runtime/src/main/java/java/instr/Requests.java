package java.instr;

/** HTTP requests that the application answers. */
public final class Requests {
    /** The status of a request that ended with an exception. */
    private static final int FAILED = 500;
    /** Added to the status if a getter has thrown: an asynchronous request may be over, and its object in use for another. */
    private static final int INCOMPLETE = 1 << 16;

    private Requests() {}

    /** The end of a request; {@code found} is what {@code nesting.requests} was at its begin. */
    public static void exit(long start, int id, Request request, Throwable thrown, Nesting nesting, int found) {
        if (start == 0L || !Timer.on) return;
        record(start, Clock.now(), id, request, thrown, nesting, found);
    }

    /** The end of a request that {@link Live} began, at a time that {@link Live#end} gave; 0 if it is not recorded. */
    public static void exitLive(
            long start, long end, int id, Request request, Throwable thrown, Nesting nesting, int found) {
        try {
            if (end != 0L) {
                record(Live.began(start), end, Live.number(start, id), request, thrown, nesting, found);
            }
        } finally {
            Live.close(start, id, thrown);
        }
    }

    private static void record(
            long start, long end, int id, Request request, Throwable thrown, Nesting nesting, int found) {
        int status = thrown == null ? request.status & 0xffff : FAILED;
        String error = thrown == null ? "" : thrown.getClass().getName();
        long number = request.isComplete ? status : status | INCOMPLETE;
        char kind = nesting.isInner(found) ? 'h' : 'H';
        String route = nesting.routeOf(request, found);
        String method = known(request.method);
        Recorder.recordDetail(
                start, end, id, kind, number, method, known(request.path), route, known(request.scheme), error,
                nesting.isInner(found) ? "" : known(request.traceparent));
    }

    private static String known(String text) {
        return text == null ? "" : text;
    }
}
