package targets.diagnosis;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/** Calls its methods as often, and as slowly, as lines on standard input say: {@code pay slow 3}, {@code browse fast 100}. */
public final class ScriptedCalls {

    private static final long SLOW_NANOS = 250_000_000;

    static int calls;

    private ScriptedCalls() {}

    public static void main(String[] arguments) throws IOException {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            System.out.println(answer(line.split(" ")));
        }
    }

    private static String answer(String[] words) {
        long nanos = words[1].equals("slow") ? SLOW_NANOS : 0;
        for (int i = 0; i < Integer.parseInt(words[2]); i++) {
            if (words[0].equals("pay")) {
                pay(nanos);
            } else {
                browse(nanos);
            }
        }
        return "done";
    }

    static void pay(long nanos) {
        price(nanos);
    }

    static void browse(long nanos) {
        price(nanos);
    }

    static void price(long nanos) {
        calls++;
        if (nanos > 0) Pauses.park(nanos);
    }
}
