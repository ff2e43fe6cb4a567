package jakarta.servlet.http;

import jakarta.servlet.ServletResponse;

/** As much of the servlet API as a request needs. */
public interface HttpServletResponse extends ServletResponse {

    int getStatus();

    void setStatus(int status);
}
