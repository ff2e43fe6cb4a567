package io.instr.runtime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import sun.misc.Unsafe;

/** The runtime encodes text itself: does it agree with the JDK's encoder, and write no byte more than it announced? */
class Utf8Test {

    private static final byte CANARY = 0x5A;

    @ParameterizedTest
    @ValueSource(strings = {"", "select 1", "Gr\u00fc\u00dfe \u20ac", "\ud83d\ude00 pair \ud83d\ude01", "\u0000\u007f\u0080\u07ff\u0800\uffff"})
    void agreesWithTheJdk(String text) throws Exception {
        assertArrayEquals(text.getBytes(StandardCharsets.UTF_8), encoded(text, 4000));
    }

    @Test
    void replacesHalvesOfPairs() throws Exception {
        String replaced = "a\ufffdb\ufffd";
        assertArrayEquals(replaced.getBytes(StandardCharsets.UTF_8), encoded("a\ud83db\ude00", 4000));
    }

    @Test
    void cutsAtTheLimitWithoutHalvesOfCharacters() throws Exception {
        assertEquals("ab", new String(encoded("abc", 2), StandardCharsets.UTF_8));
        assertEquals("a\ufffd", new String(encoded("a\ud83d\ude00", 2), StandardCharsets.UTF_8));
    }

    private static byte[] encoded(String text, int limit) throws Exception {
        Class<?> utf8 = Class.forName("java.instr.Utf8");
        Method length = utf8.getDeclaredMethod("length", String.class, int.class);
        Method write = utf8.getDeclaredMethod("write", String.class, int.class, long.class);
        length.setAccessible(true);
        write.setAccessible(true);

        Unsafe unsafe = unsafe();
        int announced = (Integer) length.invoke(null, text, limit);
        long memory = unsafe.allocateMemory(announced + 1);
        try {
            unsafe.putByte(memory + announced, CANARY);
            long end = (Long) write.invoke(null, text, limit, memory);
            assertEquals(announced, end - memory, "length announced");
            assertEquals(CANARY, unsafe.getByte(memory + announced), "byte after the text");
            byte[] bytes = new byte[announced];
            for (int i = 0; i < announced; i++) {
                bytes[i] = unsafe.getByte(memory + i);
            }
            return bytes;
        } finally {
            unsafe.freeMemory(memory);
        }
    }

    private static Unsafe unsafe() throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }
}
