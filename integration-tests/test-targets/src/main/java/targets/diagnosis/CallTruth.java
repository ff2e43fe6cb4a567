package targets.diagnosis;

/** What a program has counted and measured itself: the calls of one root, and those of the nodes below it, by whether the call of the root was slow. */
public final class CallTruth {

    /** As the tests state it for diagnoses: 15 ms. */
    private static final long SLOWER_THAN = 15_000_000;

    private final String root;
    private final String[] nodes;
    private final Sum all = new Sum();
    private final Sum[] ofNodes;

    public CallTruth(String root, String... nodes) {
        this.root = root;
        this.nodes = nodes.clone();
        this.ofNodes = new Sum[nodes.length];
        for (int i = 0; i < nodes.length; i++) {
            ofNodes[i] = new Sum();
        }
    }

    int nodes() {
        return nodes.length;
    }

    /** Adds a call that has ended and its nodes, all at once: an answer never shows half a call. */
    synchronized void add(RootCall call, long nanos) {
        // On a busy machine other calls than those that were to be slow are slow, too.
        boolean isSlow = nanos >= SLOWER_THAN;
        all.add(isSlow, 1, nanos);
        for (int i = 0; i < nodes.length; i++) {
            ofNodes[i].add(isSlow, call.calls[i], call.nanos[i]);
        }
    }

    /** {@code "pay":{"calls":9,...,"nodes":{"price":{"calls":9,...}}}}. */
    synchronized String json() {
        StringBuilder text = new StringBuilder("\"" + root + "\":{" + all.json() + ",\"nodes\":{");
        for (int i = 0; i < nodes.length; i++) {
            text.append(i == 0 ? "\"" : ",\"").append(nodes[i]).append("\":{").append(ofNodes[i].json()).append('}');
        }
        return text.append("}}").toString();
    }

    private static final class Sum {

        private static final int MOST_KEPT = 256;

        /** Times within the slow calls of the root that have ended last; the first of them is overwritten next. */
        private final long[] latest = new long[MOST_KEPT];
        private int kept;
        private long calls;
        private long slowCalls;
        private long nanos;
        private long slowNanos;

        private void add(boolean isSlow, long moreCalls, long moreNanos) {
            calls += moreCalls;
            nanos += moreNanos;
            if (isSlow) {
                slowCalls += moreCalls;
                slowNanos += moreNanos;
                latest[kept++ % MOST_KEPT] = moreNanos;
            }
        }

        private String json() {
            return "\"calls\":" + calls + ",\"slow_calls\":" + slowCalls + ",\"nanos\":" + nanos + ",\"slow_nanos\":" + slowNanos
                    + ",\"latest_slow_nanos\":" + latest();
        }

        private String latest() {
            StringBuilder text = new StringBuilder("[");
            for (int i = Math.max(0, kept - MOST_KEPT); i < kept; i++) {
                text.append(text.length() > 1 ? "," : "").append(latest[i % MOST_KEPT]);
            }
            return text.append(']').toString();
        }
    }
}
