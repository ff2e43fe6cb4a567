package targets;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.IntUnaryOperator;

/** Methods that call others in every way, return and throw through all sorts of handlers. Each can be called with a number. */
public final class Calls {
    private final int number;

    public Calls(int number) {
        // An argument whose last instruction before the call is where two ways meet.
        this(number > 1 ? Integer.toString(number) : String.valueOf(-number), number);
        record(number);
    }

    private Calls(String text, int number) {
        super();
        this.number = positive(number) + text.length();
    }

    static int positive(int number) {
        if (number < 0) {
            throw new IllegalArgumentException("negative " + number);
        }
        return number;
    }

    static int record(int number) {
        return positive(number) + 1;
    }

    static int meeting(int number) {
        return Math.max(number > 0 ? Math.abs(number) : Math.negateExact(number), number < 2 ? number : positive(number));
    }

    static String caught(int number) {
        String text = "";
        for (int i = -1; i < 2; i++) {
            try {
                text += record(number * i);
            } catch (IllegalArgumentException e) {
                text += e.getMessage();
            } finally {
                text += String.valueOf(i);
            }
        }
        return text;
    }

    static String nested(int number) {
        StringBuilder text = new StringBuilder();
        try {
            try {
                text.append(record(number)).append(Integer.parseInt(number == 7 ? "seven" : "" + number));
            } catch (NumberFormatException e) {
                text.append(record(-number));
            } finally {
                text.append("inner");
                positive(number - 1);
            }
        } catch (RuntimeException e) {
            return text.append(e.getMessage()).toString();
        }
        return text.toString();
    }

    static String locked(int number) {
        Object lock = new Object();
        try {
            synchronized (lock) {
                synchronized (Calls.class) {
                    return "in" + record(number) + Thread.holdsLock(lock);
                }
            }
        } catch (IllegalArgumentException e) {
            return e.getMessage() + Thread.holdsLock(lock) + Thread.holdsLock(Calls.class);
        }
    }

    static synchronized int lockedMethod(int number) {
        return record(record(number));
    }

    static int recursive(int number) {
        if (number <= 0) {
            return positive(number);
        }
        try {
            return recursive(number - 2) + 1;
        } catch (IllegalArgumentException e) {
            return recursive(number - 1) + 10;
        }
    }

    /** A resource whose close fails as well. */
    static String resource(int number) {
        try (AutoCloseable closed = () -> positive(number - 2)) {
            return "used" + closed.getClass().isInterface() + record(number);
        } catch (Exception e) {
            return e.getMessage() + Arrays.toString(e.getSuppressed());
        }
    }

    static Object made(int number) {
        List<Object> list = new ArrayList<>(Arrays.asList(number, new Object[positive(number)].length));
        list.add(new StringBuilder(number > 1 ? "many" : new String("few")).reverse().toString());
        IntUnaryOperator twice = value -> positive(value) * 2;
        list.add(twice.applyAsInt(number));
        list.add(new Calls(number).number);
        return list;
    }

    static long wide(int number) {
        long sum = Math.addExact((long) number, Math.multiplyExact(3L, number)) + Long.parseLong(String.valueOf(number));
        double half = Math.floor(number / 2.0) + Math.pow(Math.max(2.0, number), Math.min(3.0, sum));
        return sum + Math.round(half);
    }

    static String switched(int number) {
        switch (String.valueOf(number)) {
            case "0":
                return "zero";
            case "1":
            case "2":
                return Integer.toString(record(number));
            default:
                return "other".concat(Integer.toString(positive(number)));
        }
    }

    static void unhandled(int number) throws Exception {
        if (number > 0) {
            throw new Exception(caught(number));
        }
        positive(number);
    }

    private static String last = "none";

    /** Calls in a handler, in a finally block that does not end normally, and in a loop around both. */
    static String swallowed(int number) {
        for (int i = 0; i < 3; i++) {
            try {
                positive(number - i);
            } catch (IllegalArgumentException e) {
                last = String.valueOf(e.getMessage());
                record(i);
            } finally {
                if (record(i) == 2) {
                    continue;
                }
                last = last.concat(String.valueOf(i));
            }
        }
        return last;
    }
}
