package targets;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Brings the JVM into distress and out of it again, as each line on standard input says. */
public final class HeapPressure {

    private static volatile boolean pressing;

    private HeapPressure() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "press":
                    pressing = true;
                    Thread presser = new Thread(HeapPressure::collect, "presser");
                    presser.setDaemon(true);
                    presser.start();
                    System.out.println("pressing");
                    break;
                case "release":
                    pressing = false;
                    System.out.println("released");
                    break;
                case "work":
                    long sum = 0;
                    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
                        sum += step(i);
                    }
                    System.out.println("sum " + sum);
                    break;
                case "quit":
                    return;
                default:
                    System.out.println("? " + line);
            }
        }
    }

    /** Collections without a pause between them, of a heap in which there is something to mark. */
    private static void collect() {
        Object[] chain = new Object[1];
        for (int i = 0; i < 400_000; i++) {
            chain = new Object[] {chain};
        }
        while (pressing) {
            System.gc();
        }
        if (chain.length == 0) throw new IllegalStateException("never");
    }

    static long step(int i) {
        return (long) i * i % 7;
    }
}
