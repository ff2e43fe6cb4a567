package jakarta.servlet.http;

import jakarta.servlet.ServletRequest;

/** As much of the servlet API as a request needs. */
public interface HttpServletRequest extends ServletRequest {

    String getMethod();

    String getRequestURI();

    default String getHeader(String name) {
        return null;
    }

    default String getScheme() {
        return "http";
    }

    default Object getAttribute(String name) {
        return null;
    }

    default String getContextPath() {
        return "";
    }

    default String getServletPath() {
        return getRequestURI();
    }

    default String getPathInfo() {
        return null;
    }
}
