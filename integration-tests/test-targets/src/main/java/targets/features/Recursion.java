package targets.features;

import targets.Calls;

/** Calls of oneself, of each other, and until the stack is full. */
final class Recursion {

    private static final String PREFIX = "targets.features.Recursion.";

    private Recursion() {}

    static String run() {
        return fibonacci(15) + " " + isEven(21) + " " + ackermann(2, 3) + " " + overflow() + " " + overflow();
    }

    static int fibonacci(int n) {
        Calls.one(PREFIX + "fibonacci");
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static boolean isEven(int n) {
        Calls.one(PREFIX + "isEven");
        return n == 0 || isOdd(n - 1);
    }

    static boolean isOdd(int n) {
        Calls.one(PREFIX + "isOdd");
        return n != 0 && isEven(n - 1);
    }

    static int ackermann(int m, int n) {
        Calls.one(PREFIX + "ackermann");
        if (m == 0) {
            return n + 1;
        }
        return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
    }

    private static String overflow() {
        try {
            return "depth " + deeper(0);
        } catch (StackOverflowError thrown) {
            return "overflow";
        }
    }

    private static int deeper(int depth) {
        return depth < 0 ? depth : deeper(depth + 1) + 1;
    }
}
