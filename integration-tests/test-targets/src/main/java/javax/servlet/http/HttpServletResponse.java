package javax.servlet.http;

import javax.servlet.ServletResponse;

/** As much of the old servlet API as a request needs. */
public interface HttpServletResponse extends ServletResponse {

    int getStatus();

    void setStatus(int status);
}
