package java.instr;

/** What a template reads of a request when it has been answered: by getters alone, which do not wait. */
public final class Request {
    /** The attribute under which Spring MVC leaves the pattern of the handler, {@code /members/{id}}. */
    public static final String SPRING_PATTERN = "org.springframework.web.servlet.HandlerMapping.bestMatchingPattern";

    /** {@code GET} and its like. */
    public String method;
    /** The path as it was sent, without the query. */
    public String path;
    /** The status of the answer. */
    public int status;
    /** {@code http} or {@code https}. */
    public String scheme;
    /** What is under {@link #SPRING_PATTERN}. */
    public Object pattern;
    /** The same when a request began that is within another one: what the outer one has found for itself. */
    public Object patternAtBegin;
    /** The parts of the route that JAX-RS has matched; "" if there are none. */
    private String matched = "";
    /** The beginning of the path that leads to the application. */
    public String contextPath;
    /** The part after it that leads to the servlet. */
    public String servletPath;
    /** The rest of the path; null if there is none. */
    public String pathInfo;
    /** The header {@code traceparent} with its trace; null if it is unknown. */
    public String traceparent;
    /** Set last, when no getter has thrown. */
    public boolean isComplete;

    private Request() {}

    /**
     * Returns a request of which nothing has been read yet.
     *
     * @return a new object
     */
    public static Request unread() {
        return new Request();
    }

    /**
     * Adds the template of a resource of JAX-RS, within that of which the earlier ones are.
     *
     * @param template a part of the route
     */
    public void matchedWithin(String template) {
        if (template.isEmpty()) return;
        String inner = template.endsWith("/") && matched.startsWith("/") ? matched.substring(1) : matched;
        matched = template.startsWith("/") ? template + inner : '/' + template + inner;
    }

    /**
     * Returns the route of the whole path, with what the container has taken from its beginning; "" if there is none. {@code pattern} is
     * that of Spring.
     */
    String route(Object pattern) {
        // Known before the answer is: a request that failed without a status has it, too.
        if (!matched.isEmpty()) {
            String base = contextPath == null ? "" : contextPath;
            return base.endsWith("/") ? base.substring(0, base.length() - 1) + matched : base + matched;
        }
        if (!isComplete || !(pattern instanceof String)) return "";
        String known = (String) pattern;
        String context = contextPath == null ? "" : contextPath;
        // A servlet that is mapped to /api/* hands on what follows, unless the pattern was made for the whole path.
        String servlet = pathInfo == null || servletPath == null || known.startsWith(servletPath + '/') ? "" : servletPath;
        return context + servlet + (known.startsWith("/") ? known : '/' + known);
    }
}
