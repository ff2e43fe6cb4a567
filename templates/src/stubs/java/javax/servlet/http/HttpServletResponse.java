package javax.servlet.http;

/** What the template uses of the servlet API; only compiled against, never packaged. */
public interface HttpServletResponse {
    int getStatus();
}
