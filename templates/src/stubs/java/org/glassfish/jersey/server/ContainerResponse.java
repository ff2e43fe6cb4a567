package org.glassfish.jersey.server;

/** What the template uses of Jersey; only compiled against, never packaged. */
public class ContainerResponse {
    public int getStatus() {
        return 0;
    }
}
