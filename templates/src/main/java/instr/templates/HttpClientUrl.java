package instr.templates;

import java.instr.Live;
import java.instr.Nesting;
import java.instr.SentRequest;
import java.instr.SentRequests;
import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;
import java.instr.TraceParent;
import java.net.HttpURLConnection;
import java.net.URL;

/** For the JDK's {@code HttpURLConnection}: method, address and status of each request that is sent. */
final class HttpClientUrl {
    private HttpClientUrl() {}

    /** The method that sends a request and waits for the answer. */
    @Template(name = "http-client-url", category = "web-service/client")
    static void request() throws Throwable {
        Nesting nesting = Nesting.current();
        int found = nesting.sending;
        // A connection that has its answer is read again, and while it waits for one it calls itself.
        long start = found == 0 && SentRequests.statusOf(Target.self()) == -1 ? Timer.enter() : 0L;
        nesting.sending = found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.sending = found;
            if (start != 0L) {
                SentRequest sent = SentRequest.unread();
                try {
                    HttpURLConnection connection = (HttpURLConnection) Target.self();
                    sent.status = SentRequests.statusOf(connection);
                    sent.method = connection.getRequestMethod();
                    sent.traceparent = connection.getRequestProperty("traceparent");
                    URL url = connection.getURL();
                    sent.scheme = url.getProtocol();
                    sent.host = url.getHost();
                    sent.port = url.getPort();
                    sent.path = url.getPath();
                } catch (Throwable unknown) {
                    // What is known is recorded.
                }
                SentRequests.exit(start, Target.id(), sent, Target.thrown(), nesting, found);
            }
        }
    }

    @Template(name = "http-client-url", category = "web-service/client", live = true)
    static void requestLive() throws Throwable {
        Nesting nesting = Nesting.current();
        int found = nesting.sending;
        long start = found == 0 && SentRequests.statusOf(Target.self()) == -1 ? Live.enter(Target.id()) : 0L;
        nesting.sending = start == 0L ? found : found + 1;
        try {
            Target.proceed();
        } finally {
            nesting.sending = found;
            if (start != 0L) {
                SentRequest sent = SentRequest.unread();
                try {
                    HttpURLConnection connection = (HttpURLConnection) Target.self();
                    sent.status = SentRequests.statusOf(connection);
                    sent.method = connection.getRequestMethod();
                    sent.traceparent = connection.getRequestProperty("traceparent");
                    URL url = connection.getURL();
                    sent.scheme = url.getProtocol();
                    sent.host = url.getHost();
                    sent.port = url.getPort();
                    sent.path = url.getPath();
                } catch (Throwable unknown) {
                    // What is known is recorded.
                }
                SentRequests.exitLive(start, Target.id(), sent, Target.thrown(), nesting, found);
            }
        }
    }

    /** The methods that connect: adds the header {@code traceparent}, unless the application has done so. Records no call. */
    @Template(name = "traceparent-url", category = "web-service/client")
    static void traceparent() throws Throwable {
        try {
            HttpURLConnection connection = (HttpURLConnection) Target.self();
            if (connection.getRequestProperty("traceparent") == null) {
                String header = TraceParent.next(Nesting.current());
                if (header != null) connection.setRequestProperty("traceparent", header);
            }
        } catch (Throwable connectedAlready) {
            // The request is sent as the application made it.
        }
        Target.proceed();
    }
}
