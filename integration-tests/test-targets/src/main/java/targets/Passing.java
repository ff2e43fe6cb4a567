package targets;

import java.util.Arrays;
import java.util.UUID;

/** Methods that are called with known values, which they overwrite. */
public final class Passing {
    enum Colour {
        RED,
        GREEN {
            @Override
            public String toString() {
                return "not the name";
            }
        }
    }

    /** Its text must be asked for only where the rule says so. */
    static final class Item {
        private final String name;

        Item(String name, int weight) {
            this.name = name;
            name = "overwritten";
            weight = name.length();
        }

        @Override
        public String toString() {
            if (name == null) {
                throw new IllegalStateException("no name");
            }
            System.out.println("asked for " + name);
            return "Item " + label();
        }

        /** Recorded itself, in the middle of a text that is asked for. */
        String label() {
            return describe(this, 1);
        }
    }

    private static volatile long sink;

    private Passing() {}

    static long everyKind(
            boolean flag, byte small, char letter, short number, int count, long id, float part, double share, String text) {
        flag = !flag;
        small = 0;
        letter = 0;
        number = 0;
        count = 0;
        long result = id;
        id = 0;
        part = 0;
        share = 0;
        text = null;
        return result;
    }

    static Object objects(Object first, Colour colour, UUID key, Class<?> type, int[][] rows, String[] names, Object last) {
        Object result = first;
        first = colour = null;
        return result;
    }

    static int fails(String why, int length) {
        int shortened = length;
        length = 0;
        if (shortened > 0) {
            throw new IllegalArgumentException(why);
        }
        return 0;
    }

    static String describe(Item item, int depth) {
        return item.name + depth;
    }

    static int factorial(int n) {
        return n < 2 ? 1 : n * factorial(n - 1);
    }

    static void named(String thread, int call) {
        sink += thread.length() + call;
    }

    /** A hundredth of a microsecond, and 60 ms for one value. */
    static void mostlyFast(int value, String text) {
        long start = System.nanoTime();
        while (value == 31_415 && System.nanoTime() - start < 60_000_000) {
            sink++;
        }
        value = 0;
        text = null;
    }

    public static void main(String[] arguments) throws InterruptedException {
        everyKind(true, (byte) -128, '"', (short) 300, Integer.MIN_VALUE, Long.MIN_VALUE, 1.5f, -0.1, "a \"b\"\n\\, c=1");
        everyKind(false, (byte) 0, 'ß', (short) 0, 0, 10_000_000_000L, Float.NaN, 1e300, "");
        everyKind(false, (byte) 1, '\0', (short) -1, 1, 9, 0, 0, letters(150));
        objects(7, Colour.GREEN, new UUID(0x123456789abcdefL, -1L), int[].class, new int[2][3], new String[0], null);
        objects(null, null, null, null, null, null, null);
        try {
            fails("because", 3);
        } catch (IllegalArgumentException expected) {
            System.out.println("thrown " + expected.getMessage());
        }
        Item item = new Item("apple", 3);
        System.out.println(describe(item, 0) + " " + factorial(4));
        System.out.println(describe(new Item(null, 0), 0));
        Thread[] threads = {runner("left"), runner("right")};
        for (Thread thread : threads) {
            thread.join();
        }
        for (int value = 0; value < 40_000; value++) {
            mostlyFast(value, value == 31_415 ? "the slow one" : "a fast one");
        }
        System.out.println("done");
    }

    private static String letters(int count) {
        char[] letters = new char[count];
        Arrays.fill(letters, 'x');
        return new String(letters);
    }

    private static Thread runner(String name) {
        Thread thread = new Thread(() -> {
            for (int call = 0; call < 500; call++) {
                named(name, call);
            }
        }, name);
        thread.start();
        return thread;
    }
}
