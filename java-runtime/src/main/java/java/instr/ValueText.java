package java.instr;

import java.lang.reflect.Array;
import java.util.UUID;

/**
 * The text of captured values: {@code orderId=42, name="Jo", items=java.util.ArrayList@1b6d3586}. Texts stand in quotes, with
 * backslashes as in JSON; nothing else holds quotes, so that a reader finds the values again. A value that was cut ends with …
 *
 * <p>The form says how: the most characters of a value, a letter ({@code i} for objects by their identity, {@code s} for what their
 * toString says, upper case if the last value is the result) and the names, with commas between them.
 */
final class ValueText {
    /** Less than the recorder takes. */
    private static final int MOST = 3_900;
    private static final char CUT = '\u2026';

    private final String form;
    private char[] chars = new char[128];
    private int length;
    private int limit;
    private boolean asks;
    private boolean withResult;
    private int next;

    private ValueText(String form) {
        this.form = form;
        char letter = form.charAt(next);
        while (letter >= '0' && letter <= '9') {
            limit = limit * 10 + letter - '0';
            letter = form.charAt(++next);
        }
        next++;
        asks = letter == 's' || letter == 'S';
        withResult = letter == 'I' || letter == 'S';
    }

    /** Whether values of this form run the application's code. */
    static boolean asksApplication(String form) {
        return new ValueText(form).asks;
    }

    /** The text; null if there is no memory or stack left for it. */
    static String of(Object[] values, String form, Throwable thrown) {
        try {
            ValueText text = new ValueText(form);
            text.putAll(values, thrown);
            return new String(text.chars, 0, text.length);
        } catch (Throwable noRoom) {
            return null;
        }
    }

    private void putAll(Object[] values, Throwable thrown) {
        for (int i = 0; i < values.length; i++) {
            if (length > MOST) {
                put(CUT);
                return;
            }
            if (i > 0) {
                put(',');
                put(' ');
            }
            int name = next;
            while (next < form.length() && form.charAt(next) != ',') next++;
            if (withResult && i == values.length - 1 && thrown != null) {
                putPlain("throw", 5);
                put('=');
                putName(thrown.getClass());
            } else {
                for (int at = name; at < next; at++) put(form.charAt(at));
                put('=');
                putValue(values[i]);
            }
            next++;
        }
    }

    private void putValue(Object value) {
        if (value == null) {
            putPlain("null", 4);
        } else if (value instanceof String) {
            putQuoted((String) value);
        } else if (value instanceof Integer) {
            putNumber(((Integer) value).intValue());
        } else if (value instanceof Long) {
            putNumber(((Long) value).longValue());
        } else if (value instanceof Boolean) {
            putPlain(((Boolean) value).booleanValue() ? "true" : "false", 5);
        } else if (value instanceof Character) {
            putCharacter(((Character) value).charValue());
        } else {
            putOther(value);
        }
    }

    private void putOther(Object value) {
        if (value instanceof Double) {
            putPlain(Double.toString(((Double) value).doubleValue()), limit);
        } else if (value instanceof Float) {
            putPlain(Float.toString(((Float) value).floatValue()), limit);
        } else if (value instanceof Short) {
            putNumber(((Short) value).shortValue());
        } else if (value instanceof Byte) {
            putNumber(((Byte) value).byteValue());
        } else if (value instanceof Enum) {
            putPlain(((Enum<?>) value).name(), limit);
        } else if (value instanceof Class) {
            putName((Class<?>) value);
            putPlain(".class", 6);
        } else if (value instanceof UUID) {
            putUuid((UUID) value);
        } else if (asks) {
            putAsked(value);
        } else {
            putIdentity(value);
        }
    }

    /** What the application says of its object. */
    private void putAsked(Object value) {
        String text;
        try {
            text = value.toString();
        } catch (Throwable thrown) {
            putIdentity(value);
            putPlain("(toString() threw ", 18);
            putName(thrown.getClass());
            put(')');
            return;
        }
        if (text == null) putPlain("null", 4);
        else putQuoted(text);
    }

    private void putIdentity(Object value) {
        Class<?> type = value.getClass();
        if (type.isArray()) {
            int dimensions = 0;
            for (Class<?> element = type; element.isArray(); element = element.getComponentType()) dimensions++;
            putName(elementOf(type));
            put('[');
            putNumber(Array.getLength(value));
            put(']');
            for (int i = 1; i < dimensions; i++) putPlain("[]", 2);
        } else {
            putName(type);
        }
        put('@');
        putHex(System.identityHashCode(value), 7);
    }

    private static Class<?> elementOf(Class<?> type) {
        Class<?> element = type;
        while (element.isArray()) element = element.getComponentType();
        return element;
    }

    private void putUuid(UUID value) {
        long high = value.getMostSignificantBits();
        long low = value.getLeastSignificantBits();
        putDigits(high, 60, 32);
        put('-');
        putDigits(high, 28, 16);
        put('-');
        putDigits(high, 12, 0);
        put('-');
        putDigits(low, 60, 48);
        put('-');
        putDigits(low, 44, 0);
    }

    /** Hexadecimal digits of the bits from {@code shift + 3} down to {@code last}. */
    private void putDigits(long bits, int shift, int last) {
        for (int at = shift; at >= last; at -= 4) putDigit((int) (bits >>> at) & 15);
    }

    /** Without the zeros in front. */
    private void putHex(int value, int digit) {
        int at = digit;
        while (at > 0 && value >>> (at << 2) == 0) at--;
        for (; at >= 0; at--) putDigit(value >>> (at << 2) & 15);
    }

    private void putDigit(int digit) {
        put((char) (digit < 10 ? '0' + digit : 'a' + digit - 10));
    }

    private void putNumber(long value) {
        if (value < 0) put('-');
        long scale = 1;
        while (value / scale / 10 != 0) scale *= 10;
        for (; scale != 0; scale /= 10) {
            long digit = value / scale % 10;
            put((char) ('0' + (digit < 0 ? -digit : digit)));
        }
    }

    private void putName(Class<?> type) {
        putPlain(type.getName(), MOST);
    }

    /** Without what has a meaning in the text; names may be almost anything. */
    private void putPlain(String text, int most) {
        int end = end(text, most);
        for (int i = 0; i < end; i++) {
            char c = text.charAt(i);
            put(c < ' ' || c == '"' || c == ',' || c == '\\' ? '_' : c);
        }
        if (end < text.length()) put(CUT);
    }

    private void putCharacter(char c) {
        put('"');
        putEscaped(c);
        put('"');
    }

    private void putQuoted(String text) {
        int end = end(text, limit);
        put('"');
        for (int i = 0; i < end; i++) putEscaped(text.charAt(i));
        put('"');
        if (end < text.length()) put(CUT);
    }

    /** Where a text is cut; not between the halves of a character. */
    private static int end(String text, int most) {
        int end = Math.min(text.length(), most);
        boolean halved = end > 0 && end < text.length() && (text.charAt(end - 1) & 0xFC00) == 0xD800;
        return halved ? end - 1 : end;
    }

    private void putEscaped(char c) {
        if (c == '"' || c == '\\') {
            put('\\');
            put(c);
        } else if (c == '\n' || c == '\r' || c == '\t') {
            put('\\');
            put(c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        } else if (c < ' ') {
            put('\\');
            put('u');
            putDigits(c, 12, 0);
        } else {
            put(c);
        }
    }

    private void put(char c) {
        if (length >= chars.length) {
            if (length >= MOST + 100) return;
            char[] longer = new char[length * 2];
            System.arraycopy(chars, 0, longer, 0, length);
            chars = longer;
        }
        chars[length++] = c;
    }
}
