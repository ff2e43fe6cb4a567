package acme.styles;

/** Local storage that a template writes to without calling anybody; for one thread. */
public final class Store {

    public static final String[] METHODS = new String[1 << 16];
    public static final long[] DURATIONS = new long[1 << 16];
    public static int next;

    private Store() {}

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(Store::print));
    }

    private static void print() {
        for (int i = 0; i < next; i++) {
            System.out.println("# " + METHODS[i] + " " + DURATIONS[i]);
        }
    }
}
