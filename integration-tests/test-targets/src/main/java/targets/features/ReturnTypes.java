package targets.features;

import java.util.Arrays;
import targets.Calls;

/** A method for each type that can be returned. */
final class ReturnTypes {

    private static final String PREFIX = "targets.features.ReturnTypes.";
    private static int effects;

    private ReturnTypes() {}

    static String run() {
        nothing(1);
        nothing(0);
        return flag(3) + " " + small(300) + " " + letter(66) + " " + medium(70_000) + " " + number(5) + " " + big(6) + " "
                + real(7) + " " + exact(8) + " " + text(9) + " " + Arrays.toString(ints(3)) + " "
                + Arrays.deepToString(table(2)) + " " + none() + " " + effects + " " + early(1) + early(2) + early(3);
    }

    static void nothing(int n) {
        Calls.one(PREFIX + "nothing");
        if (n == 0) {
            return;
        }
        effects += n;
    }

    static boolean flag(int n) {
        Calls.one(PREFIX + "flag");
        return n > 2;
    }

    static byte small(int n) {
        Calls.one(PREFIX + "small");
        return (byte) n;
    }

    static char letter(int n) {
        Calls.one(PREFIX + "letter");
        return (char) n;
    }

    static short medium(int n) {
        Calls.one(PREFIX + "medium");
        return (short) n;
    }

    static int number(int n) {
        Calls.one(PREFIX + "number");
        return -n;
    }

    static long big(int n) {
        Calls.one(PREFIX + "big");
        return (long) n << 40;
    }

    static float real(int n) {
        Calls.one(PREFIX + "real");
        return n / 3f;
    }

    static double exact(int n) {
        Calls.one(PREFIX + "exact");
        return n / 3d;
    }

    static String text(int n) {
        Calls.one(PREFIX + "text");
        return "text" + n;
    }

    static int[] ints(int n) {
        Calls.one(PREFIX + "ints");
        return new int[n];
    }

    static long[][] table(int n) {
        Calls.one(PREFIX + "table");
        return new long[n][n];
    }

    static Object none() {
        Calls.one(PREFIX + "none");
        return null;
    }

    static double early(int n) {
        Calls.one(PREFIX + "early");
        if (n == 1) {
            return 1;
        } else if (n == 2) {
            return Double.NaN;
        }
        return -0.0;
    }
}
