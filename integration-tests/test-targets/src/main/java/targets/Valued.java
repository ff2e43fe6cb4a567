package targets;

/** Methods whose arguments, results and exceptions a template looks at. */
public final class Valued {

    private final String name;

    Valued(String name) {
        this.name = name;
    }

    public static void main(String[] arguments) {
        System.out.println("mixed " + mixed(1, 2.5, "three"));
        System.out.println("wide " + wide(1L << 40, 'c', 7L));
        System.out.println("object " + new Valued("me").describe("first", "second"));
        System.out.println("fails " + attempt());
        nothing(true, (byte) 3);
    }

    static long mixed(int a, double b, String c) {
        a += 100;
        return a + (long) (b * 2) + c.length();
    }

    static double wide(long a, char b, long c) {
        c = a;
        return b + c * 0.5;
    }

    String describe(String first, String second) {
        String old = second;
        second = null;
        return name + ":" + first + ":" + old + second;
    }

    static String attempt() {
        try {
            fails(4, "why");
            return "not";
        } catch (IllegalStateException thrown) {
            return thrown.getMessage();
        }
    }

    static int fails(int n, String reason) {
        if (n > 3) {
            throw new IllegalStateException(reason);
        }
        return n;
    }

    static void nothing(boolean flag, byte small) {
        if (flag) {
            System.out.println("nothing " + small);
        }
    }
}
