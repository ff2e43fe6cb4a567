package sun.net.www.http;

import java.net.URL;

/** What the template uses of the connection of {@code HttpURLConnection}, from within it; only compiled against, never packaged. */
public class HttpClient {
    public URL url;
}
