package sun.net.www;

/** What the template uses of the head of a request of {@code HttpURLConnection}; only compiled against, never packaged. */
public class MessageHeader {
    public String getKey(int number) {
        return null;
    }

    public String findValue(String key) {
        return null;
    }

    public void set(String key, String value) {}

    public void remove(String key) {}
}
