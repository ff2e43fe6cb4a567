package jakarta.servlet.http;

import jakarta.servlet.ServletRequest;
import jakarta.servlet.ServletResponse;

/** As much of the servlet API as a request needs. */
public abstract class HttpServlet {

    public void service(ServletRequest request, ServletResponse response) {
        service((HttpServletRequest) request, (HttpServletResponse) response);
    }

    protected abstract void service(HttpServletRequest request, HttpServletResponse response);
}
