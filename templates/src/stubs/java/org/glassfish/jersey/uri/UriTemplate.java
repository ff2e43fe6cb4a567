package org.glassfish.jersey.uri;

/** What the template uses of Jersey; only compiled against, never packaged. */
public class UriTemplate {
    public final String getTemplate() {
        return null;
    }
}
