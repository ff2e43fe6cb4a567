package jdk.internal.net.http;

import java.net.URI;
import java.net.http.HttpHeaders;
import java.net.http.HttpRequest;

/** What the template uses of the JDK's own request, from within its package; only compiled against, never packaged. */
public class HttpRequestImpl extends HttpRequest {
    @Override
    public String method() {
        return null;
    }

    @Override
    public URI uri() {
        return null;
    }

    @Override
    public HttpHeaders headers() {
        return null;
    }

    public void setSystemHeader(String name, String value) {}
}
