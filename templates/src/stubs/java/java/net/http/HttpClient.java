package java.net.http;

/** What the templates use of the JDK's client; only compiled against, never packaged. */
public abstract class HttpClient {
    public abstract Redirect followRedirects();

    /** Which redirects the client follows. */
    public enum Redirect {
        NEVER,
        ALWAYS,
        NORMAL
    }
}
