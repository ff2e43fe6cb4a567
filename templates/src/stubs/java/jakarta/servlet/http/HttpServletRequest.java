package jakarta.servlet.http;

/** What the template uses of the servlet API; only compiled against, never packaged. */
public interface HttpServletRequest {
    String getMethod();

    String getHeader(String name);

    String getRequestURI();

    String getScheme();

    Object getAttribute(String name);

    String getContextPath();

    String getServletPath();

    String getPathInfo();
}
