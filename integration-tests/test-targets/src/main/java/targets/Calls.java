package targets;

import java.util.Map;
import java.util.TreeMap;

/**
 * The programs' own count of calls, by class and method. The tests compare it with the trace, so this class is never
 * instrumented.
 */
public final class Calls {

    private static final Map<String, Long> COUNTS = new TreeMap<>();

    private Calls() {}

    public static void add(String method, long calls) {
        synchronized (COUNTS) {
            COUNTS.merge(method, calls, Long::sum);
        }
    }

    /** To be the first statement of the method that is counted. */
    public static void one(String method) {
        add(method, 1);
    }

    /** Lines that the tests read back: {@code calls targets.Hello.greet 3}. */
    public static void print() {
        synchronized (COUNTS) {
            COUNTS.forEach((method, calls) -> System.out.println("calls " + method + " " + calls));
        }
    }
}
