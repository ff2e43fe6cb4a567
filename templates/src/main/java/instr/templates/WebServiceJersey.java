package instr.templates;

import java.instr.Live;
import java.instr.Nesting;
import java.instr.Request;
import java.instr.Requests;
import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;
import java.util.List;
import org.glassfish.jersey.server.ContainerRequest;
import org.glassfish.jersey.server.ContainerResponse;
import org.glassfish.jersey.uri.UriTemplate;

/**
 * For Jersey, on whatever server: method, path, route and status of each request. In a servlet container the request is within that of
 * the servlet, which gets the route from here. The types are the same for jakarta.ws.rs and javax.ws.rs.
 */
final class WebServiceJersey {
    private WebServiceJersey() {}

    /** Methods whose first argument is Jersey's request. */
    @Template(
            name = "http-server-jersey",
            category = "web-service",
            requires = {
                "org.glassfish.jersey.server.ContainerRequest",
                "org.glassfish.jersey.server.ExtendedUriInfo",
                "org.glassfish.jersey.uri.UriTemplate"
            })
    static void httpServer() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Timer.enter();
        int found = nesting.requests;
        String around = nesting.traceparent;
        if (found == 0) {
            nesting.beginsOutermost = true;
            nesting.traceparent = null;
            try {
                nesting.traceparent = ((ContainerRequest) Target.arg(0)).getHeaderString("traceparent");
            } catch (Throwable unknown) {
                // Then the request begins a trace.
            }
        }
        nesting.status = 0;
        nesting.requests = found + 1;
        try {
            Target.proceed();
        } finally {
            String traceparent = nesting.traceparent;
            nesting.traceparent = around;
            nesting.requests = found;
            Request known = Request.unread();
            known.traceparent = traceparent;
            try {
                ContainerRequest request = (ContainerRequest) Target.arg(0);
                known.method = request.getMethod();
                known.path = request.getRequestUri().getRawPath();
                known.scheme = request.getRequestUri().getScheme();
                known.contextPath = request.getBaseUri().getRawPath();
                List<UriTemplate> templates = request.getUriInfo().getMatchedTemplates();
                for (int i = 0; i < templates.size(); i++) known.matchedWithin(templates.get(i).getTemplate());
                known.status = nesting.answered();
                known.isComplete = known.status != 0;
            } catch (Throwable recycled) {
                // What is known is recorded, and the rest is counted as unknown.
            }
            Requests.exit(start, Target.id(), known, Target.thrown(), nesting, found);
        }
    }

    @Template(
            name = "http-server-jersey",
            category = "web-service",
            live = true,
            requires = {
                "org.glassfish.jersey.server.ContainerRequest",
                "org.glassfish.jersey.server.ExtendedUriInfo",
                "org.glassfish.jersey.uri.UriTemplate"
            })
    static void httpServerLive() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Live.enter(Target.id());
        int found = nesting.requests;
        String around = nesting.traceparent;
        if (found == 0) {
            nesting.beginsOutermost = true;
            nesting.traceparent = null;
            try {
                nesting.traceparent = ((ContainerRequest) Target.arg(0)).getHeaderString("traceparent");
            } catch (Throwable unknown) {
                // Then the request begins a trace.
            }
        }
        nesting.status = 0;
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
                if (end != 0L) {
                    try {
                        ContainerRequest request = (ContainerRequest) Target.arg(0);
                        known.method = request.getMethod();
                        known.path = request.getRequestUri().getRawPath();
                        known.scheme = request.getRequestUri().getScheme();
                        known.contextPath = request.getBaseUri().getRawPath();
                        List<UriTemplate> templates = request.getUriInfo().getMatchedTemplates();
                        for (int i = 0; i < templates.size(); i++) known.matchedWithin(templates.get(i).getTemplate());
                        known.status = nesting.answered();
                        known.isComplete = known.status != 0;
                    } catch (Throwable recycled) {
                        // What is known is recorded, and the rest is counted as unknown.
                    }
                }
                Requests.exitLive(start, end, Target.id(), known, Target.thrown(), nesting, found);
            }
        }
    }

    /** Methods whose first argument is Jersey's response, which is about to be written. Records no call. */
    @Template(
            name = "http-status-jersey",
            category = "web-service",
            requires = "org.glassfish.jersey.server.ContainerResponse")
    static void status() throws Throwable {
        Nesting nesting = Nesting.current();
        if (nesting.requests > 0) {
            try {
                nesting.status = ((ContainerResponse) Target.arg(0)).getStatus();
            } catch (Throwable unknown) {
                nesting.status = 0;
            }
        }
        Target.proceed();
    }
}
