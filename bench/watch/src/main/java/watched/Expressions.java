package watched;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Compiles regular expressions and searches text with them. */
public final class Expressions {

    private static final String[] EXPRESSIONS = {
        "[a-z]+@[a-z]+\\.(com|org)", "(\\w+)\\s+\\1", "(?i)error:.{0,20}code", "\\d{4}-\\d{2}-\\d{2}", "^(a|b|ab)*c"
    };

    private Expressions() {}

    public static void main(String[] arguments) {
        int rounds = Integer.parseInt(arguments[0]);
        String text = text();
        long sum = 0;
        for (int round = 0; round < rounds; round++) {
            for (String expression : EXPRESSIONS) {
                sum += find(Pattern.compile(expression, Pattern.MULTILINE), text);
            }
            sum += replace(text);
            sum += split(text);
        }
        System.out.println("RESULT " + sum);
    }

    private static String text() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 60; i++) {
            text.append("line ").append(i).append(" the the mail someone@example.org on 2024-0").append(i % 9 + 1)
                    .append("-17 Error: none, code ").append(i * 31).append(" ababababc\nababc\n");
        }
        return text.toString();
    }

    private static int find(Pattern pattern, String text) {
        Matcher matcher = pattern.matcher(text);
        int found = 0;
        while (matcher.find()) found += matcher.end() - matcher.start();
        return found;
    }

    private static int replace(String text) {
        return text.replaceAll("(\\d+)-(\\d+)", "$2/$1").length();
    }

    private static int split(String text) {
        return text.split("[,\\s]+").length;
    }
}
