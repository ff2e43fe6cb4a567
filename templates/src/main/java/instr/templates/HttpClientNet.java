package instr.templates;

import java.instr.Live;
import java.instr.Nesting;
import java.instr.SentRequest;
import java.instr.SentRequests;
import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;
import java.instr.TraceParent;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import jdk.internal.net.http.HttpRequestImpl;

/** For {@code java.net.http.HttpClient}: method, address and status of each request that is sent. */
final class HttpClientNet {
    private HttpClientNet() {}

    /** Methods whose first argument is the request. The status is known if the result is the answer. */
    @Template(name = "http-client-net", category = "web-service/client")
    static void send() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Timer.enter();
        int found = nesting.sending;
        nesting.sending = found + 1;
        nesting.sent = null;
        try {
            Target.proceed();
        } finally {
            nesting.sending = found;
            SentRequest sent = SentRequest.unread();
            try {
                sent.traceparent = nesting.sent;
                Object answer = Target.result();
                if (answer instanceof HttpResponse) sent.status = ((HttpResponse) answer).statusCode();
                HttpRequest request = (HttpRequest) Target.arg(0);
                sent.method = request.method();
                URI uri = request.uri();
                sent.scheme = uri.getScheme();
                sent.host = uri.getHost();
                sent.port = uri.getPort();
                sent.path = uri.getRawPath();
            } catch (Throwable unknown) {
                // What is known is recorded.
            }
            SentRequests.exit(start, Target.id(), sent, Target.thrown(), nesting, found);
        }
    }

    @Template(name = "http-client-net", category = "web-service/client", live = true)
    static void sendLive() throws Throwable {
        Nesting nesting = Nesting.current();
        long start = Live.enter(Target.id());
        int found = nesting.sending;
        nesting.sending = start == 0L ? found : found + 1;
        nesting.sent = null;
        try {
            Target.proceed();
        } finally {
            nesting.sending = found;
            if (start != 0L) {
                SentRequest sent = SentRequest.unread();
                try {
                    sent.traceparent = nesting.sent;
                    Object answer = Target.result();
                    if (answer instanceof HttpResponse) sent.status = ((HttpResponse) answer).statusCode();
                    HttpRequest request = (HttpRequest) Target.arg(0);
                    sent.method = request.method();
                    URI uri = request.uri();
                    sent.scheme = uri.getScheme();
                    sent.host = uri.getHost();
                    sent.port = uri.getPort();
                    sent.path = uri.getRawPath();
                } catch (Throwable unknown) {
                    // What is known is recorded.
                }
                SentRequests.exitLive(start, Target.id(), sent, Target.thrown(), nesting, found);
            }
        }
    }

    /**
     * The constructor that gets the application's request and the client's copy of it: adds the header {@code traceparent} to the copy, unless the
     * application has done so. Records no call.
     */
    @Template(
            name = "traceparent-net",
            category = "web-service/client",
            requires = "jdk.internal.net.http.HttpRequestImpl")
    static void traceparent() throws Throwable {
        Target.proceed();
        try {
            if (!((HttpRequest) Target.arg(0)).headers().firstValue("traceparent").isPresent()) {
                Nesting nesting = Nesting.current();
                String header = TraceParent.next(nesting);
                if (header != null) {
                    ((HttpRequestImpl) Target.arg(1)).setSystemHeader("traceparent", header);
                    nesting.sent = header;
                }
            }
        } catch (Throwable unknown) {
            // The request is sent as the application made it.
        }
    }
}
