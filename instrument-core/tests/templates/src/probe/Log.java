package probe;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** What the test templates call: a list of what happened, for the tests that run what they have merged. */
public final class Log {
    private static final List<String> EVENTS = new ArrayList<>();

    private Log() {}

    public static void enter(int id) {
        EVENTS.add("enter");
    }

    public static void exit(int id) {
        EVENTS.add("exit");
    }

    /** A probe that fails. */
    public static void exitAndThrow(int id) {
        EVENTS.add("exit");
        throw new UnsupportedOperationException("probe");
    }

    public static void note(String text) {
        EVENTS.add(text);
    }

    public static void value(Object value) {
        EVENTS.add(describe(value));
    }

    /** Values that a rule chose, without asking them anything. */
    public static void captured(Object[] values, String form) {
        StringBuilder text = new StringBuilder(form + "[");
        for (int i = 0; values != null && i < values.length; i++) {
            Object value = values[i];
            boolean isPlain = value == null || value instanceof String || value instanceof Number || value instanceof Boolean
                    || value instanceof Character || value instanceof Enum;
            text.append(i == 0 ? "" : ",").append(isPlain ? value : value.getClass().getSimpleName());
        }
        EVENTS.add(text + "]");
    }

    private static String describe(Object value) {
        if (value == null) {
            return "null";
        }
        if (value instanceof Object[]) {
            return Arrays.toString((Object[]) value);
        }
        return value.getClass().getSimpleName() + ":" + (value instanceof Throwable ? ((Throwable) value).getMessage() : value);
    }

    /** What happened since the last call. */
    public static String drain() {
        String text = String.join(" ", EVENTS);
        EVENTS.clear();
        return text;
    }
}
