package targets;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/** Methods of many shapes. What they return must not depend on what is merged into them. */
public class Behaviour implements Shape {
    static final List<String> TRAIL = new ArrayList<>();
    final String name;
    private final int number;

    public Behaviour() {
        this("default", 7);
    }

    public Behaviour(String name) {
        this(name == null ? "nobody" : name.trim(), name == null ? 0 : name.length());
    }

    protected Behaviour(String name, int number) {
        super();
        for (int i = 0; i < 3; i++) {
            number += i;
        }
        this.name = name;
        this.number = number;
        if (number > 1000) {
            throw new IllegalArgumentException("number " + number);
        }
    }

    /** A constructor with a branch and an object under construction before super(). */
    static class Child extends Behaviour {
        final Object extra;

        Child(int size) {
            super(size > 2 ? new StringBuilder("big").append(size).toString() : "small", size);
            Object local = size > 5 ? null : new Object[size];
            extra = local;
        }

        Child(String text) {
            this(Integer.parseInt(text));
        }

        @Override
        public String describe() {
            return "child of " + super.describe() + (extra == null);
        }
    }

    @Override
    public double area(double width, long height) {
        width += height;
        height = 4;
        return width * height;
    }

    public String describe() {
        return name + number;
    }

    static boolean booleans(boolean a, byte b, char c, short d) {
        a = !a;
        b += 1;
        c = 'x';
        return a || b > d || c == 'y';
    }

    static byte bytes(int value) {
        return (byte) (value * 3);
    }

    static char chars(int value) {
        return (char) ('a' + value);
    }

    static short shorts(int value) {
        return (short) (value << 12);
    }

    static float floats(float value) {
        return value / 3;
    }

    static long longs(long a, int b, long c) {
        long sum = 0;
        for (long i = a; i < c; i += b) {
            if (i % 7 == 3) {
                continue;
            }
            sum += i;
        }
        return sum;
    }

    static int[] arrays(int... values) {
        int[] copy = values.clone();
        for (int i = 0; i < copy.length / 2; i++) {
            int swap = copy[i];
            copy[i] = copy[copy.length - 1 - i];
            copy[copy.length - 1 - i] = swap;
        }
        return copy;
    }

    static void nothing() {}

    static String words(int key) {
        switch (key) {
            case 0:
                return "zero";
            case 1:
                return "one";
            case 2:
                return "two";
            case 3:
            case 4:
                key *= 2;
                break;
            case 1_000_000:
                return "million";
            default:
                key = -key;
        }
        switch (key) {
            case 6:
                return "six";
            case 8:
                return "eight";
            default:
                return "other" + key;
        }
    }

    static String strings(String key) {
        switch (key) {
            case "Aa":
                return "first";
            case "BB":
                return "same hash";
            default:
                return key;
        }
    }

    static int finals(int depth) {
        try {
            if (depth == 0) {
                throw new IllegalStateException("bottom");
            }
            return finals(depth - 1) + 1;
        } catch (IllegalArgumentException e) {
            return -100;
        } finally {
            TRAIL.add("f" + depth);
        }
    }

    static int caught(int depth) {
        int result = 0;
        while (true) {
            try {
                synchronized (TRAIL) {
                    result += finals(depth);
                }
                return result;
            } catch (IllegalStateException e) {
                result += 10;
                if (depth-- == 0) {
                    break;
                }
            }
        }
        return result;
    }

    synchronized long guarded(long value) throws Exception {
        Callable<Long> call = () -> value + number;
        Object lock = call;
        synchronized (lock) {
            if (value < 0) {
                throw new Exception("negative " + value);
            }
            return call.call();
        }
    }

    /** The first instruction is a jump target. */
    static int spin(int count) {
        while (--count > 0) {
            TRAIL.add("s");
        }
        return count;
    }

    static Object forever(int limit) {
        for (;;) {
            if (limit-- == 0) {
                throw new UnsupportedOperationException("limit");
            }
        }
    }

    static <T extends Comparable<T>> T largest(List<T> values) {
        T best = null;
        for (T value : values) {
            best = best == null || value.compareTo(best) > 0 ? value : best;
        }
        return best;
    }

    static String many(int a, long b, float c, double d, String e, int[] f, Object g, boolean h, char i) {
        String before = "" + a + b + c + d + e + f.length + g + h + i;
        a = 0;
        b = 0;
        c = 0;
        d = 0;
        e = null;
        f = null;
        g = null;
        h = false;
        i = 0;
        return before + a + b + c + d + e + f + g + h + (int) i;
    }

    static int assertions(int value) {
        assert value > 0 : "not positive";
        return value;
    }
}
