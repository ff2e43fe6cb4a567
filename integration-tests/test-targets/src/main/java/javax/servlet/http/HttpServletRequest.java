package javax.servlet.http;

import javax.servlet.ServletRequest;

/** As much of the old servlet API as a request needs. */
public interface HttpServletRequest extends ServletRequest {

    String getMethod();

    String getRequestURI();
}
