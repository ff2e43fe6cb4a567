package java.instr;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import jdk.internal.misc.Unsafe;

/** The header {@code baggage} of W3C, in which a request carries the names of the contexts inside which it was sent to another JVM. */
public final class Baggage {
    private static final String HEADER = "baggage";
    /** Where {@code jdk.internal.net.http.HttpRequestImpl} has the application's headers. */
    private static final String OF_APPLICATION = "userHeaders";

    private static final Unsafe U = Unsafe.getUnsafe();

    private Baggage() {}

    /**
     * Returns the header of a request that the present thread is about to send, with an entry for each context that reaches this host.
     *
     * @param present the header as the application has it; may be null
     * @param host the host that gets the request
     * @return the header; null if the request is to stay as it is, as always while all probes are switched off
     */
    public static String extended(String present, String host) {
        if (!Timer.on || host == null) return null;
        long place = Places.seen();
        if (place == 0L) return null;
        return extend(present, host, word(place, 0), word(place, 1), word(place, 2), word(place, 3));
    }

    private static long word(long place, int number) {
        return U.getLong(place + PlaceTable.BITS + (number << 3));
    }

    /** Returns the header with the entries of the contexts of which the last step is among these bits. Throws nothing. */
    private static native String extend(String present, String host, long word0, long word1, long word2, long word3);

    /**
     * Returns headers of one name as one.
     *
     * @param values their values
     * @return the values with commas between them; null if there are none
     */
    public static String joined(List<String> values) {
        return values.isEmpty() ? null : String.join(",", values);
    }

    /**
     * Returns headers with this one in place of those of its name.
     *
     * @param headers the headers
     * @param header the value of the header {@code baggage}
     * @return the headers
     */
    public static Map<String, List<String>> with(Map<String, List<String>> headers, String header) {
        Map<String, List<String>> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        all.putAll(headers);
        all.put(HEADER, new ArrayList<>(Collections.singletonList(header)));
        return all;
    }

    /**
     * Replaces the application's headers in the client's own copy of a request.
     *
     * @param request the copy
     * @param headers the headers
     */
    public static void replaceHeaders(Object request, Object headers) {
        ObjectField.set(request, U.objectFieldOffset(request.getClass(), OF_APPLICATION), headers);
    }
}
