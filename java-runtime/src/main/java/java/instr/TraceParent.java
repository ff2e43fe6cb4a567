package java.instr;

import jdk.internal.misc.Unsafe;

/**
 * The header {@code traceparent} of W3C Trace Context, {@code 00-TRACE-SPAN-FLAGS}: 32, 16 and 2 hexadecimal digits. Calls nothing of the JDK
 * that could be instrumented.
 */
public final class TraceParent {
    private static final int LENGTH = 55;
    private static final int SPAN = 36;
    private static final int FLAGS = 53;
    private static final String DIGITS = "0123456789abcdef";
    /** A span that is no span: the trace begins here. */
    private static final String NO_SPAN = "0000000000000000";

    private static final Unsafe U = Unsafe.getUnsafe();
    /** Address of a word: the state of the generator. */
    private static final long STATE = U.allocateMemory(8);

    static {
        // Two JVMs that start in the same nanosecond have their memory at different addresses.
        U.putLong(STATE, mixed(System.nanoTime()) ^ mixed(System.currentTimeMillis()) ^ mixed(STATE));
    }

    private TraceParent() {}

    /**
     * Returns the header for a request that the present thread is about to send: the trace of the request that the thread answers, or a new
     * trace, and a new span.
     *
     * @param nesting the state of the thread
     * @return the header; null while all probes are switched off
     */
    public static String next(Nesting nesting) {
        if (!Timer.on) return null;
        String around = nesting.traceOfRequest();
        if (!isValid(around)) {
            around = "00-" + hex(random()) + hex(random()) + '-' + NO_SPAN + "-01";
            // What the thread sends within the same request belongs to the same trace.
            nesting.keep(around);
        }
        return around.substring(0, SPAN) + hex(random()) + '-' + around.substring(FLAGS, LENGTH);
    }

    /** Versions after 00 begin with the same fields (W3C Trace Context, 4.4). */
    private static boolean isValid(String header) {
        if (header == null || header.length() < LENGTH) return false;
        boolean hasTrace = false;
        for (int at = 0; at < LENGTH; at++) {
            char letter = header.charAt(at);
            boolean separates = at == 2 || at == SPAN - 1 || at == FLAGS - 1;
            if (separates ? letter != '-' : DIGITS.indexOf(letter) < 0) return false;
            hasTrace |= at > 2 && at < SPAN - 1 && letter != '0';
        }
        return hasTrace && header.charAt(0) == '0' && header.charAt(1) == '0';
    }

    private static String hex(long number) {
        char[] digits = new char[16];
        for (int at = 15; at >= 0; at--) {
            digits[at] = DIGITS.charAt((int) number & 15);
            number >>>= 4;
        }
        return new String(digits);
    }

    /** Never 0, which means no identity. */
    private static long random() {
        long number = mixed(U.getAndAddLong(null, STATE, 0x9E3779B97F4A7C15L));
        return number == 0 ? 1 : number;
    }

    /** Spreads a number over all bits (the finalizer of SplitMix64). */
    private static long mixed(long number) {
        number = (number ^ number >>> 30) * 0xBF58476D1CE4E5B9L;
        number = (number ^ number >>> 27) * 0x94D049BB133111EBL;
        return number ^ number >>> 31;
    }
}
