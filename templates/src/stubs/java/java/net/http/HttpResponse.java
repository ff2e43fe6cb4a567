package java.net.http;

/** What the template uses of Java 11's client; only compiled against, never packaged. */
public interface HttpResponse<T> {
    int statusCode();
}
