package jdk.internal.net.http.common;

import java.util.function.BiPredicate;

/** What the template uses of the JDK's client, from within it; only compiled against, never packaged. */
public final class Utils {
    /** The headers that an application may set. */
    public static final BiPredicate<String, String> ALLOWED_HEADERS = null;

    private Utils() {}
}
