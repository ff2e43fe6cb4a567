package targets.hot;

import java.util.Scanner;
import java.util.concurrent.ThreadLocalRandom;

/**
 * Two hot methods: {@code both} calls each of them once, {@code one} only the second one. Which of them is called is drawn anew each time. The program checks each result
 * of a hot method itself and counts the calls.
 */
public class TwoHotMethods {
    private static final int SIZES = 3;
    private static final int SMALLEST = 4_000;
    private static final int BOTH_PERCENT = 60;
    private static final long[] LEFT = new long[SIZES];
    private static final long[] RIGHT = new long[SIZES];
    /** Written by one thread. */
    private static volatile long callsOfBoth;
    private static volatile long callsOfOne;
    private static volatile long wrong;

    public static void main(String[] arguments) {
        for (int size = 0; size < SIZES; size++) {
            long left = size;
            long right = size;
            for (int i = 0; i < rounds(size); i++) {
                left = left * 31 + (i ^ left >>> 7);
                right = right * 17 + (i ^ right >>> 5);
            }
            LEFT[size] = left;
            RIGHT[size] = right;
        }
        Thread worker = new Thread(Worker::work, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        for (String line = lines.nextLine(); !line.equals("quit"); line = lines.nextLine()) System.out.println(callsOfBoth + " " + callsOfOne + " " + wrong);
        System.exit(0);
    }

    /** A class of its own: one whose frame stays is not changed. */
    static final class Worker {
        static void work() {
            while (true) serve(ThreadLocalRandom.current().nextInt(SIZES));
        }
    }

    static void serve(int size) {
        choose(size);
    }

    static void choose(int size) {
        if (ThreadLocalRandom.current().nextInt(100) < BOTH_PERCENT) {
            both(size);
        } else {
            one(size);
        }
    }

    static void both(int size) {
        check(left(size), LEFT[size]);
        check(right(size), RIGHT[size]);
        callsOfBoth++;
    }

    static void one(int size) {
        check(right(size), RIGHT[size]);
        callsOfOne++;
    }

    static long left(int size) {
        long sum = size;
        for (int i = 0; i < rounds(size); i++) sum = sum * 31 + (i ^ sum >>> 7);
        return sum;
    }

    static long right(int size) {
        long sum = size;
        for (int i = 0; i < rounds(size); i++) sum = sum * 17 + (i ^ sum >>> 5);
        return sum;
    }

    private static int rounds(int size) {
        return SMALLEST * (size + 1);
    }

    private static void check(long result, long expected) {
        if (result != expected) wrong++;
    }
}
