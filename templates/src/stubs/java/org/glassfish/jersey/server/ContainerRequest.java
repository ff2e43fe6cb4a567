package org.glassfish.jersey.server;

import java.net.URI;

/** What the template uses of Jersey; only compiled against, never packaged. */
public class ContainerRequest {
    public String getMethod() {
        return null;
    }

    public String getHeaderString(String name) {
        return null;
    }

    public URI getRequestUri() {
        return null;
    }

    public URI getBaseUri() {
        return null;
    }

    public ExtendedUriInfo getUriInfo() {
        return null;
    }
}
