package targets;

/** Calls that take a known time: measured by the program inside and around each, so the agent's figure must lie between. */
public final class Durations {

    static final int CALLS = 10;

    private Durations() {}

    public static void main(String[] arguments) {
        long nanos = Long.parseLong(arguments[0]) * 1_000_000;
        for (int i = 0; i < CALLS; i++) {
            System.out.println("measured " + measure(nanos));
        }
    }

    /** One call, with what is measured inside and around it. */
    static String measure(long nanos) {
        long before = System.nanoTime();
        long inside = busy(nanos);
        long around = System.nanoTime() - before;
        return inside + " " + around;
    }

    static long busy(long nanos) {
        long start = System.nanoTime();
        long now = start;
        while (now - start < nanos) {
            now = System.nanoTime();
        }
        return now - start;
    }
}
