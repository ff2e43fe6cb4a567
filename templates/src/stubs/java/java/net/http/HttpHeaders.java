package java.net.http;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiPredicate;

/** What the templates use of Java 11's client; only compiled against, never packaged. */
public final class HttpHeaders {
    public static HttpHeaders of(Map<String, List<String>> headers, BiPredicate<String, String> filter) {
        return null;
    }

    public Optional<String> firstValue(String name) {
        return Optional.empty();
    }

    public List<String> allValues(String name) {
        return null;
    }

    public Map<String, List<String>> map() {
        return null;
    }
}
