package targets.hot;

import java.util.Scanner;

/** Work that the JIT does with stubs of the JVM, in which no stack can be read without further ado: copies, mathematics, texts. */
public class HotIntrinsics {
    private static final byte[] BYTES = new byte[40_000];
    private static final byte[] COPY = new byte[40_000];
    private static final Object[] OBJECTS = new Object[4_000];
    private static final Object[] REFERENCES = new Object[4_000];
    private static volatile double result;

    public static void main(String[] arguments) {
        Thread thread = new Thread(HotIntrinsics::work, "intrinsics");
        thread.setDaemon(true);
        thread.start();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        for (String line = lines.nextLine(); !line.equals("quit"); line = lines.nextLine()) System.out.println(line);
        System.out.println("quit");
        System.exit(0);
    }

    private static void work() {
        String text = "a text with a few words and, at its end, a needle".repeat(20);
        while (true) {
            copy();
            calculate();
            search(text);
        }
    }

    static void copy() {
        for (int i = 0; i < 100; i++) {
            System.arraycopy(BYTES, i, COPY, 0, 30_000);
            System.arraycopy(OBJECTS, i, REFERENCES, 0, 3_000);
        }
    }

    static void calculate() {
        double sum = 0;
        for (int i = 0; i < 3_000; i++) sum += Math.sin(i) * Math.cos(i) + Math.exp(-i) + Math.log(i + 1) + Math.pow(i, 0.3);
        result += sum;
    }

    static void search(String text) {
        for (int i = 0; i < 100; i++) {
            result += text.indexOf("a needle for") + (text + i).hashCode() + (text.equals("a " + text) ? 1 : 0);
            result += System.nanoTime() & 1;
        }
    }
}
