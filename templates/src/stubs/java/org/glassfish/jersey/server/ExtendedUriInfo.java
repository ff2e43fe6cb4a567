package org.glassfish.jersey.server;

import java.util.List;
import org.glassfish.jersey.uri.UriTemplate;

/** What the template uses of Jersey; only compiled against, never packaged. */
public interface ExtendedUriInfo {
    List<UriTemplate> getMatchedTemplates();
}
