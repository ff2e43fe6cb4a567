package java.instr;

/** What a template reads of a request that the application has sent: by getters alone, which do not wait. */
public final class SentRequest {
    /** {@code GET} and its like. */
    public String method;
    /** {@code http} or {@code https}. */
    public String scheme;
    /** The host as the application named it. */
    public String host;
    /** The port; negative if the application named none. */
    public int port;
    /** The path without the query. */
    public String path;
    /** The status of the answer; 0 or less if there is none. */
    public int status;
    /** The header {@code traceparent} that was sent; null if there was none. */
    public String traceparent;

    private SentRequest() {}

    /**
     * Returns a request of which nothing has been read yet.
     *
     * @return a new object
     */
    public static SentRequest unread() {
        return new SentRequest();
    }
}
