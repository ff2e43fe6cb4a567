package java.net.http;

import java.util.Optional;

/** What the template uses of Java 11's client; only compiled against, never packaged. */
public final class HttpHeaders {
    public Optional<String> firstValue(String name) {
        return Optional.empty();
    }
}
