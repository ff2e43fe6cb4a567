package java.instr;

/** What a template reads of a request when it has been answered: by the getters of the servlet API alone, which do not wait. */
public final class Request {
    /** The attribute under which Spring MVC leaves the pattern of the handler, {@code /members/{id}}. */
    public static final String SPRING_PATTERN = "org.springframework.web.servlet.HandlerMapping.bestMatchingPattern";

    public String method;
    public String path;
    public int status;
    public String scheme;
    /** What is under {@link #SPRING_PATTERN}. */
    public Object pattern;
    public String contextPath;
    public String servletPath;
    public String pathInfo;
    /** Set last, when no getter has thrown. */
    public boolean isComplete;

    private Request() {}

    /** A request of which nothing has been read yet. */
    public static Request unread() {
        return new Request();
    }

    /** Returns the framework's pattern for the whole path, with what the container has taken from its beginning; "" if there is none. */
    String route() {
        if (!(pattern instanceof String) || !isComplete) return "";
        String known = (String) pattern;
        String context = contextPath == null ? "" : contextPath;
        // A servlet that is mapped to /api/* hands on what follows, unless the pattern was made for the whole path.
        String servlet = pathInfo == null || servletPath == null || known.startsWith(servletPath + '/') ? "" : servletPath;
        return context + servlet + (known.startsWith("/") ? known : '/' + known);
    }
}
