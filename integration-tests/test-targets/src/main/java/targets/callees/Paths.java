package targets.callees;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Calls {@link #last} by paths of one to four methods. Each line is a number, so many times each path is taken; they are answered by their sum. */
public final class Paths {

    private static long sum;

    private Paths() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            walk(Integer.parseInt(line));
            System.out.println(sum);
        }
    }

    private static void walk(int times) {
        for (int i = 0; i < times; i++) {
            first();
            second();
            third();
            fourth();
            last();
        }
    }

    static void first() {
        second();
    }

    static void second() {
        third();
    }

    static void third() {
        fourth();
    }

    static void fourth() {
        last();
    }

    static void last() {
        sum++;
    }
}
