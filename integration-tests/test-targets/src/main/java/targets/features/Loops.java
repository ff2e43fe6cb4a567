package targets.features;

import targets.Calls;

/** Loops, above all those that jump back to a method's first instruction: each call must still count once. */
final class Loops {

    private static final String PREFIX = "targets.features.Loops.";
    private static int calls;

    private Loops() {}

    static String run() {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 5; i++) {
            out.append(toTheStart(i)).append(spin(10 * i)).append(' ');
            calls += 2;
        }
        Calls.add(PREFIX + "toTheStart", 5);
        Calls.add(PREFIX + "spin", 5);
        return out.toString() + labelled(12) + " " + collatz(27) + " " + calls;
    }

    /** The loop's head is instruction 0. */
    static int toTheStart(int n) {
        do {
            n -= 3;
        } while (n > 0);
        return n;
    }

    static int spin(int n) {
        while (true) {
            if (n-- <= 7) {
                return n;
            }
        }
    }

    static int labelled(int limit) {
        Calls.one(PREFIX + "labelled");
        int found = 0;
        outer:
        for (int i = 2; i < limit; i++) {
            for (int k = 2; k < i; k++) {
                if (i % k == 0) {
                    continue outer;
                }
                if (found > 3) {
                    break outer;
                }
            }
            found++;
        }
        return found;
    }

    static int collatz(long n) {
        Calls.one(PREFIX + "collatz");
        int steps = 0;
        for (; n != 1; steps++) {
            n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
        }
        return steps;
    }
}
