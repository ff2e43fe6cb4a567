package java.instr;

/**
 * How many recorded calls of each category the present thread is in. A statement that a pool executes passes the pool's wrapper, a
 * proxy and the driver, and a forwarded request passes several servlets: the inner calls are marked in their records, so that the
 * agent can count the outermost alone.
 *
 * <p>A template adds 1 to a field when a call begins and restores the earlier value when it ends, normally or exceptionally. It
 * calls no method for that, so nothing can fail. The state belongs to the thread and not to its carrier, because a virtual
 * thread may be unmounted in the middle of a call.
 */
public final class Nesting {
    private static final ThreadLocal<Nesting> OF_THREAD = new ThreadLocal<>();
    /** For threads whose own state could not be allocated: it is shared, so it is never believed. */
    private static final Nesting UNKNOWN = new Nesting();

    /** Calls of category {@code database}. */
    public int statements;
    /** Calls of category {@code web-service}. */
    public int requests;
    /** Calls of category {@code socket}. */
    public int transfers;
    /** Calls of category {@code web-service/client}. */
    public int sending;

    /** The header {@code traceparent} of the outermost request, or what {@link TraceParent} made in its place; null if there is none. */
    public String traceparent;
    /** The header that the present thread has added last to a request that it sends. */
    public String sent;

    /** Set when an outermost request begins: what requests before it have left here is not its own. */
    public boolean beginsOutermost;
    /** The status of the answer that Jersey is about to write; 0 if it has written none yet. */
    public int status;

    /** How many requests are around the inner request that has ended last; 0 if there was none. */
    private int aroundInner;
    /** What Spring had left for the request around it when it began, its path and its route. */
    private Object patternBeforeInner;
    private String innerPath;
    private String innerRoute;

    /** The text of the first inner statement that knew it; for an outermost one that does not. */
    private String innerText;
    /** The probe of the inner statement that ended first, which is the innermost: the driver's. 0 if there was none. */
    private int innermost;

    private Nesting() {}

    /**
     * Returns the state of the present thread. Called before the call is counted anywhere, because it may need much stack.
     *
     * @return the state; never null
     */
    public static Nesting current() {
        try {
            Nesting known = OF_THREAD.get();
            if (known != null) return known;
            Nesting created = new Nesting();
            OF_THREAD.set(created);
            return created;
        } catch (Throwable noMemory) {
            return UNKNOWN;
        }
    }

    /**
     * Returns the status that Jersey was about to write in the present thread.
     *
     * @return the status; 0 if it is unknown
     */
    public int answered() {
        return this == UNKNOWN ? 0 : status;
    }

    /** Returns the header of the request that the thread answers; null if there is none. */
    String traceOfRequest() {
        return this == UNKNOWN ? null : traceparent;
    }

    /** Keeps the header that was made for a request without one, until the request has been answered. */
    void keep(String header) {
        if (requests > 0 && this != UNKNOWN) traceparent = header;
    }

    /** Whether a call that found this value in a field was made within another call of its category. */
    boolean isInner(int found) {
        return found > 0 && this != UNKNOWN;
    }

    /** Returns the probe of the innermost statement within an outermost one, which is the driver's; 0 if there was none. */
    int driverOf(int id, int found) {
        if (this == UNKNOWN) return 0;
        int driver = innermost;
        if (!isInner(found)) {
            innermost = 0;
            return driver;
        }
        if (driver == 0) innermost = id;
        return 0;
    }

    /**
     * Returns the route of a request, "" if it is unknown. A request that was forwarded to another handler finds that one's pattern in the
     * attributes that they share; its own is what the inner one has found there. The route of an inner request is that of the outer one if
     * their paths are the same, as those of a servlet and of Jersey within it.
     */
    String routeOf(Request request, int found) {
        if (this == UNKNOWN) return request.route(request.pattern);
        if (beginsOutermost) {
            beginsOutermost = false;
            forgetInner();
        }
        String route;
        if (aroundInner != found + 1) {
            route = request.route(request.pattern);
        } else if (patternBeforeInner != null) {
            route = request.route(patternBeforeInner);
        } else {
            route = request.path != null && request.path.equals(innerPath) ? innerRoute : "";
        }
        if (!isInner(found)) {
            forgetInner();
        } else if (aroundInner != found) {
            aroundInner = found;
            patternBeforeInner = request.patternAtBegin;
            innerPath = request.path;
            innerRoute = route;
        }
        return route;
    }

    private void forgetInner() {
        aroundInner = 0;
        patternBeforeInner = null;
        innerPath = null;
        innerRoute = null;
    }

    /** Returns the text of a statement: its own, or that of a statement within it. An inner statement leaves its text for the outer one. */
    String textOf(Object own, int found) {
        String text = own instanceof String ? (String) own : null;
        if (this == UNKNOWN) return text == null ? "" : text;
        if (isInner(found)) {
            if (innerText == null) innerText = text;
        } else {
            if (text == null) text = innerText;
            innerText = null;
        }
        return text == null ? "" : text;
    }
}
