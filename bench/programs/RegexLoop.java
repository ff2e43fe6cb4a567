import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A unit compiles a pattern and takes lines of a log apart with this and three others. */
public final class RegexLoop {

    private static final Pattern LINE = Pattern.compile(
            "^(\\d{4})-(\\d\\d)-(\\d\\d)T([\\d:.]+)\\s+(INFO|WARN|ERROR)\\s+\\[([^\\]]+)\\]\\s+([\\w.$]+)\\s*:\\s*(.*)$");
    private static final Pattern PAIR = Pattern.compile("(\\w+)=(\"[^\"]*\"|\\S+)");
    private static final Pattern ADDRESS = Pattern.compile("(?:[0-9]{1,3}\\.){3}[0-9]{1,3}(?=[:/ ]|$)");

    private RegexLoop() {}

    public static void main(String[] arguments) throws Exception {
        Measured.run(unit -> {
            long sum = 0;
            Pattern own = Pattern.compile("(user|id)[-_]?" + unit % 10 + "(?:\\d+|[a-f]*?)\\b", Pattern.CASE_INSENSITIVE);
            for (int i = 0; i < 10; i++) {
                String line = "2026-11-22T05:1" + i % 10 + ":00.123  " + (i % 3 == 0 ? "WARN" : "INFO") + " [worker-" + i + "] com.acme.Shop$Cart"
                        + " : user" + (unit + i) % 100 + " from 10.0." + i + "." + unit % 256 + ":8080 took=" + unit % 500 + " path=\"/orders/" + i + "\"";
                Matcher matcher = LINE.matcher(line);
                if (matcher.matches()) {
                    sum += matcher.group(5).length() + matcher.end(8);
                    sum += count(PAIR.matcher(matcher.group(8))) * 31L + count(ADDRESS.matcher(line)) * 7L + count(own.matcher(line));
                }
                sum += PAIR.matcher(line).replaceAll("$1:$2").hashCode() & 15;
            }
            return sum;
        });
    }

    private static int count(Matcher matcher) {
        int found = 0;
        while (matcher.find()) {
            found++;
        }
        return found;
    }
}
