package jakarta.servlet.http;

import jakarta.servlet.ServletRequest;

/** As much of the servlet API as a request needs. */
public interface HttpServletRequest extends ServletRequest {

    String getMethod();

    String getRequestURI();
}
