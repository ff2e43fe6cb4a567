package javax.servlet.http;

import javax.servlet.ServletRequest;
import javax.servlet.ServletResponse;

/** As much of the old servlet API as a request needs. */
public abstract class HttpServlet {

    public void service(ServletRequest request, ServletResponse response) {
        service((HttpServletRequest) request, (HttpServletResponse) response);
    }

    protected abstract void service(HttpServletRequest request, HttpServletResponse response);
}
