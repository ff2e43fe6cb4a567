package java.instr;

import java.net.HttpURLConnection;
import jdk.internal.misc.Unsafe;

/** HTTP requests that the application sends to other processes. */
public final class SentRequests {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final long RESPONSE_CODE = U.objectFieldOffset(HttpURLConnection.class, "responseCode");

    private SentRequests() {}

    /**
     * Returns the status of the answer of a connection, without waiting for one.
     *
     * @param connection a {@link HttpURLConnection}
     * @return the status; -1 if there is no answer yet
     */
    public static int statusOf(Object connection) {
        return connection instanceof HttpURLConnection ? U.getInt(connection, RESPONSE_CODE) : -1;
    }

    /**
     * Ends and records a request.
     *
     * @param start what {@link Timer#enter} returned; 0 if nothing is to be recorded
     * @param id the number of the probe, {@link Target#id()}
     * @param request what is known of the request
     * @param thrown what the call threw; may be null
     * @param nesting the state of the thread
     * @param found what {@code nesting.sending} was when the call began
     */
    public static void exit(long start, int id, SentRequest request, Throwable thrown, Nesting nesting, int found) {
        if (start != 0L && Timer.on) record(start, Clock.now(), id, request, thrown, nesting, found);
    }

    /**
     * Ends a request that {@link Live} began.
     *
     * @param start what {@link Live#enter} returned
     * @param id the number of the probe, {@link Target#id()}
     * @param request what is known of the request
     * @param thrown what the call threw; may be null
     * @param nesting the state of the thread
     * @param found what {@code nesting.sending} was when the call began
     */
    public static void exitLive(long start, int id, SentRequest request, Throwable thrown, Nesting nesting, int found) {
        if (start == 0L) return;
        try {
            long end = Live.end(start);
            if (end != 0L) record(Live.began(start), end, Live.number(start, id), request, thrown, nesting, found);
        } finally {
            Live.close(start, id, thrown);
        }
    }

    private static void record(
            long start, long end, int id, SentRequest request, Throwable thrown, Nesting nesting, int found) {
        char kind = nesting.isInner(found) ? 'c' : 'C';
        long number = (long) Math.max(0, request.port) << 16 | Math.max(0, request.status);
        String error = thrown == null ? "" : thrown.getClass().getName();
        Recorder.recordDetail(
                start, end, id, kind, number, known(request.method), known(request.scheme), known(request.host),
                known(request.path), error, known(request.traceparent));
    }

    private static String known(String text) {
        return text == null ? "" : text;
    }
}
