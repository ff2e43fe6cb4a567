package instr.templates;

import java.instr.Live;
import java.instr.Nesting;
import java.instr.Request;
import java.instr.Requests;
import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;

/** For servlets of javax.servlet: method, path and status of each request. */
final class WebServiceJavax {
    private WebServiceJavax() {}

    /** Methods whose first two arguments are request and response. */
    @Template(
            name = "http-server-javax",
            category = "web-service",
            requires = {"javax.servlet.http.HttpServletRequest", "javax.servlet.http.HttpServletResponse"})
    static void httpServer() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Timer.enter();
        int found = nesting.requests;
        Object patternAtBegin = null;
        String around = nesting.traceparent;
        if (found == 0) {
            nesting.beginsOutermost = true;
            nesting.traceparent = null;
            try {
                nesting.traceparent = ((HttpServletRequest) Target.arg(0)).getHeader("traceparent");
            } catch (Throwable unknown) {
                // Then the request begins a trace.
            }
        } else {
            try {
                patternAtBegin = ((HttpServletRequest) Target.arg(0)).getAttribute(Request.SPRING_PATTERN);
            } catch (Throwable unknown) {
                // Then what is found at the end is believed.
            }
        }
        nesting.requests = found + 1;
        try {
            Target.proceed();
        } finally {
            String traceparent = nesting.traceparent;
            nesting.traceparent = around;
            nesting.requests = found;
            Object request = Target.arg(0);
            Object response = Target.arg(1);
            if (request instanceof HttpServletRequest && response instanceof HttpServletResponse) {
                Request known = Request.unread();
                known.traceparent = traceparent;
                try {
                    HttpServletRequest http = (HttpServletRequest) request;
                    known.method = http.getMethod();
                    known.path = http.getRequestURI();
                    known.status = ((HttpServletResponse) response).getStatus();
                    known.scheme = http.getScheme();
                    known.pattern = http.getAttribute(Request.SPRING_PATTERN);
                    known.patternAtBegin = patternAtBegin;
                    known.contextPath = http.getContextPath();
                    known.servletPath = http.getServletPath();
                    known.pathInfo = http.getPathInfo();
                    known.isComplete = true;
                } catch (Throwable recycled) {
                    // An asynchronous request may be over by now; what is known is recorded, and the rest is counted as unknown.
                }
                Requests.exit(start, Target.id(), known, Target.thrown(), nesting, found);
            } else {
                Timer.exit(start, Target.id());
            }
        }
    }

    @Template(
            name = "http-server-javax",
            category = "web-service",
            live = true,
            requires = {"javax.servlet.http.HttpServletRequest", "javax.servlet.http.HttpServletResponse"})
    static void httpServerLive() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Live.enter(Target.id());
        int found = nesting.requests;
        Object patternAtBegin = null;
        String around = nesting.traceparent;
        if (found == 0) {
            nesting.beginsOutermost = true;
            nesting.traceparent = null;
            try {
                nesting.traceparent = ((HttpServletRequest) Target.arg(0)).getHeader("traceparent");
            } catch (Throwable unknown) {
                // Then the request begins a trace.
            }
        } else if (start != 0L) {
            try {
                patternAtBegin = ((HttpServletRequest) Target.arg(0)).getAttribute(Request.SPRING_PATTERN);
            } catch (Throwable unknown) {
                // Then what is found at the end is believed.
            }
        }
        nesting.requests = start == 0L ? found : found + 1;
        try {
            Target.proceed();
        } finally {
            String traceparent = nesting.traceparent;
            nesting.traceparent = around;
            nesting.requests = found;
            if (start != 0L) {
                long end = Live.end(start);
                Request known = Request.unread();
                known.traceparent = traceparent;
                Object request = Target.arg(0);
                Object response = Target.arg(1);
                if (end != 0L && request instanceof HttpServletRequest && response instanceof HttpServletResponse) {
                    try {
                        HttpServletRequest http = (HttpServletRequest) request;
                        known.method = http.getMethod();
                        known.path = http.getRequestURI();
                        known.status = ((HttpServletResponse) response).getStatus();
                        known.scheme = http.getScheme();
                        known.pattern = http.getAttribute(Request.SPRING_PATTERN);
                        known.patternAtBegin = patternAtBegin;
                        known.contextPath = http.getContextPath();
                        known.servletPath = http.getServletPath();
                        known.pathInfo = http.getPathInfo();
                        known.isComplete = true;
                    } catch (Throwable recycled) {
                        // An asynchronous request may be over by now; what is known is recorded, and the rest is counted as unknown.
                    }
                }
                Requests.exitLive(start, end, Target.id(), known, Target.thrown(), nesting, found);
            }
        }
    }
}
