package targets.diagnosis;

/** What a program has counted and measured itself: the calls of one root, and those of the nodes below it, by whether the call of the root was slow. */
public final class CallTruth {

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
        all.add(call.slow, 1, nanos);
        for (int i = 0; i < nodes.length; i++) {
            ofNodes[i].add(call.slow, call.calls[i], call.nanos[i]);
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
            }
        }

        private String json() {
            return "\"calls\":" + calls + ",\"slow_calls\":" + slowCalls + ",\"nanos\":" + nanos + ",\"slow_nanos\":" + slowNanos;
        }
    }
}
