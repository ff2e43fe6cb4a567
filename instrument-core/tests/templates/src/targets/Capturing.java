package targets;

import probe.Log;

/** Methods whose values are captured: what the templates note must be what is passed here. */
public class Capturing {
    enum Colour { RED }

    final long sum;

    Capturing(long first, double second) {
        this.sum = first + (long) second;
        first = 0;
        second = 0;
    }

    Capturing(String text) {
        this(text.length(), Double.parseDouble(text));
    }

    static long statically(int a, long b, double c, String d, byte[] e) {
        a = 0;
        b = c > 1 ? 1 : 2;
        d = null;
        e = null;
        return a + b;
    }

    double each(boolean z, byte b, char c, short s, float f, Colour colour, Object nothing) {
        z = false;
        b = 0;
        c = 0;
        s = 0;
        f = 0;
        return sum / 2.0;
    }

    static void fails(String why) {
        String kept = why;
        why = "overwritten";
        throw new IllegalArgumentException(kept);
    }

    static int factorial(int n) {
        if (n < 2) {
            return 1;
        }
        int m = n;
        n = -1;
        return m * factorial(m - 1);
    }

    /** The second argument is in slot 1, the local in slots 0 and 1 once both are dead. */
    static String reused(int a, int b) {
        int both = a + b;
        {
            long wide = both;
            a = (int) wide;
            b = a;
        }
        return "" + b;
    }

    private static void done(String what) {
        System.out.println("events " + what + ": " + Log.drain());
    }

    public static void main(String[] arguments) {
        statically(-7, 1L << 40, 2.5, "text", new byte[0]);
        done("static");
        Capturing made = new Capturing(3, 4.5);
        done("constructor");
        new Capturing("12.5");
        done("chain");
        try {
            new Capturing("no number");
        } catch (NumberFormatException expected) {
            done("thrown before this()");
        }
        made.each(true, (byte) -1, 'c', (short) 9, 1.5f, Colour.RED, null);
        done("each");
        try {
            fails("reason");
        } catch (IllegalArgumentException expected) {
            done("thrown " + expected.getMessage());
        }
        System.out.println("result " + factorial(3));
        done("recursion");
        System.out.println("result " + reused(20, 22));
        done("reused");
    }
}
