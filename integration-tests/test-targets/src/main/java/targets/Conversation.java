package targets;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

/** Does what each line on standard input says and answers with one line: for tests that change a running JVM. */
public final class Conversation {

    private static final StackWalker WALKER = StackWalker.getInstance();

    private Conversation() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "work":
                    System.out.println("sum " + work(Integer.parseInt(words[1])));
                    break;
                case "fail":
                    System.out.println("failed " + fail(Integer.parseInt(words[1])));
                    break;
                case "query":
                    System.out.println("length " + query(words[1]));
                    break;
                case "position":
                    System.out.println("position " + position());
                    break;
                case "map":
                    System.out.println("size " + fill(Integer.parseInt(words[1])));
                    break;
                case "threads":
                    System.out.println("threads " + Thread.getAllStackTraces().size());
                    break;
                case "busy":
                    System.out.println("measured " + Durations.measure(Long.parseLong(words[1])));
                    break;
                case "twin":
                    System.out.println("twin " + Twin.act(words[1]));
                    break;
                case "quit":
                    return;
                default:
                    System.out.println("? " + line);
            }
        }
    }

    private static long work(int steps) {
        long sum = 0;
        for (int i = 0; i < steps; i++) {
            sum += step(i);
        }
        return sum;
    }

    /** So many calls that end with an exception. */
    private static int fail(int times) {
        int failed = 0;
        for (int i = 0; i < times; i++) {
            try {
                step(-1);
            } catch (IllegalArgumentException expected) {
                failed++;
            }
        }
        return failed;
    }

    /** As slow as a statement of a database, and longer than a tick. */
    private static int query(String text) throws InterruptedException {
        Thread.sleep(5);
        return text.length();
    }

    static long step(int i) {
        if (i < 0) {
            throw new IllegalArgumentException("no step");
        }
        return (long) i * i % 7;
    }

    /** Returns the bytecode index of the call of {@code bytecodeIndex} in this method: it moves when something is merged before it. */
    static int position() {
        return bytecodeIndex();
    }

    private static int bytecodeIndex() {
        return WALKER.walk(frames -> frames
                .filter(frame -> frame.getMethodName().equals("position"))
                .findFirst()
                .orElseThrow(IllegalStateException::new)
                .getByteCodeIndex());
    }

    private static int fill(int entries) {
        Map<Integer, String> map = new HashMap<>();
        for (int i = 0; i < entries; i++) {
            map.put(i, "value");
        }
        return map.size();
    }
}
