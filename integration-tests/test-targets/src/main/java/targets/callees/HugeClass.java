package targets.callees;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Generates a class with five megabytes of constants and a few methods, and waits. */
public final class HugeClass {

    private static final int TEXTS = 80;
    private static final int TEXT_BYTES = 65_000;
    private static final int METHODS = 5;

    private HugeClass() {}

    public static void main(String[] arguments) throws Exception {
        Class<?> generated = new Generator().define("targets.callees.Generated", bytes());
        generated.getMethod("call0").invoke(null);
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            System.out.println(line);
        }
    }

    /** Each method only calls {@link Thread#yield()}. */
    private static byte[] bytes() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream file = new DataOutputStream(bytes);
        file.writeInt(0xCAFEBABE);
        file.writeInt(52);
        file.writeShort(13 + METHODS + TEXTS);
        text(file, "targets/callees/Generated");
        reference(file, 7, 1);
        text(file, "java/lang/Object");
        reference(file, 7, 3);
        text(file, "()V");
        text(file, "Code");
        text(file, "java/lang/Thread");
        reference(file, 7, 7);
        text(file, "yield");
        reference(file, 12, 9, 5);
        reference(file, 10, 8, 10);
        text(file, "unused");
        for (int i = 0; i < METHODS; i++) {
            text(file, "call" + i);
        }
        for (int i = 0; i < TEXTS; i++) {
            byte[] text = new byte[TEXT_BYTES];
            Arrays.fill(text, (byte) 'x');
            ByteBuffer.wrap(text).put((byte) ('0' + i / 10)).put((byte) ('0' + i % 10));
            file.writeByte(1);
            file.writeShort(text.length);
            file.write(text);
        }
        // public super, this class, super class, no interfaces, no fields
        for (int number : new int[] {0x21, 2, 4, 0, 0, METHODS}) {
            file.writeShort(number);
        }
        for (int i = 0; i < METHODS; i++) {
            // public static, one attribute: Code of 16 bytes
            for (int number : new int[] {9, 13 + i, 5, 1, 6}) {
                file.writeShort(number);
            }
            file.writeInt(16);
            file.writeInt(0);
            file.writeInt(4);
            // invokestatic #11, return
            file.writeInt(0xB8000BB1);
            file.writeInt(0);
        }
        file.writeShort(0);
        return bytes.toByteArray();
    }

    private static void text(DataOutputStream file, String text) throws IOException {
        file.writeByte(1);
        file.writeUTF(text);
    }

    private static void reference(DataOutputStream file, int tag, int... indices) throws IOException {
        file.writeByte(tag);
        for (int index : indices) {
            file.writeShort(index);
        }
    }

    private static final class Generator extends ClassLoader {

        private Class<?> define(String name, byte[] bytes) {
            return defineClass(name, bytes, 0, bytes.length);
        }
    }
}
