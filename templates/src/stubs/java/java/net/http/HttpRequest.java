package java.net.http;

import java.net.URI;

/** What the template uses of Java 11's client; only compiled against, never packaged. */
public abstract class HttpRequest {
    public abstract String method();

    public abstract URI uri();

    public abstract HttpHeaders headers();
}
