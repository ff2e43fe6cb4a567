package java.instr;

import jdk.internal.misc.Unsafe;

/** Writes text to off-heap memory as UTF-8 without touching charsets: those are classes that users instrument. */
final class Utf8 {
    private static final Unsafe U = Unsafe.getUnsafe();

    private Utf8() {}

    /** Bytes of the first {@code limit} characters. */
    static int length(String text, int limit) {
        int bytes = 0;
        for (int i = 0, n = Math.min(text.length(), limit); i < n; i++) {
            char c = text.charAt(i);
            if (c < 0x80) bytes++;
            else if (c < 0x800) bytes += 2;
            else if (isPair(text, i, n)) {
                bytes += 4;
                i++;
            } else bytes += 3;
        }
        return bytes;
    }

    /** The next multiple of a record slot. */
    static int padded(int bytes) {
        return bytes + 15 & ~15;
    }

    /** Writes the first {@code limit} characters; a lone surrogate becomes U+FFFD. */
    static long write(String text, int limit, long at) {
        for (int i = 0, n = Math.min(text.length(), limit); i < n; i++) {
            char c = text.charAt(i);
            if (c < 0x80) {
                at = put(at, c);
            } else if (c < 0x800) {
                at = put(put(at, 0xC0 | c >> 6), 0x80 | c & 0x3F);
            } else if (isPair(text, i, n)) {
                int point = 0x10000 + (c - 0xD800 << 10) + (text.charAt(++i) - 0xDC00);
                at = put(put(at, 0xF0 | point >> 18), 0x80 | point >> 12 & 0x3F);
                at = put(put(at, 0x80 | point >> 6 & 0x3F), 0x80 | point & 0x3F);
            } else {
                int unit = c >= 0xD800 && c < 0xE000 ? 0xFFFD : c;
                at = put(put(put(at, 0xE0 | unit >> 12), 0x80 | unit >> 6 & 0x3F), 0x80 | unit & 0x3F);
            }
        }
        return at;
    }

    private static boolean isPair(String text, int i, int n) {
        char c = text.charAt(i);
        return c >= 0xD800 && c < 0xDC00 && i + 1 < n && text.charAt(i + 1) >= 0xDC00 && text.charAt(i + 1) < 0xE000;
    }

    private static long put(long at, int value) {
        U.putByte(at, (byte) value);
        return at + 1;
    }
}
