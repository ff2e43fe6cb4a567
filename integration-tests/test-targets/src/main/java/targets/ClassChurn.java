package targets;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;

/** Defines classes in ever new loaders and drops them, as script engines and makers of proxies do: each with a name of its own. */
public final class ClassChurn {

    /** The number in the name of {@link Guest0000000}. */
    private static final int DIGITS = 7;

    private ClassChurn() {}

    /** Of these there are many. */
    public static final class Guest0000000 implements Runnable {

        private static int visits;

        @Override
        public void run() {
            visits = add(visits, 1);
        }

        private static int add(int left, int right) {
            return left + right;
        }
    }

    private static final class OneClass extends ClassLoader {

        OneClass() {
            super(ClassChurn.class.getClassLoader());
        }

        Class<?> define(byte[] file) {
            return defineClass(null, file, 0, file.length);
        }
    }

    /** So many classes; the resident memory in KiB is printed after each tenth of them. */
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        byte[] file = guest();
        WeakReference<ClassLoader> last = null;
        for (int number = 1; number <= count; number++) {
            rename(file, number);
            OneClass loader = new OneClass();
            ((Runnable) loader.define(file).getDeclaredConstructor().newInstance()).run();
            last = new WeakReference<>(loader);
            if (number % 100 == 0) {
                System.gc();
            }
            if (arguments.length > 1 && number % Math.max(count / 10, 1) == 0) {
                System.out.println(number + " classes, resident " + MemoryGrowth.residentKilobytes() + " KiB");
            }
        }
        while (last != null && last.get() != null) {
            System.gc();
            Thread.sleep(10);
        }
        System.out.println("dropped " + count);
    }

    private static byte[] guest() throws IOException {
        try (InputStream file = ClassChurn.class.getResourceAsStream("ClassChurn$Guest0000000.class")) {
            return file.readAllBytes();
        }
    }

    /** Overwrites the digits wherever the name occurs. */
    private static void rename(byte[] file, int number) {
        byte[] name = "ClassChurn$Guest".getBytes(StandardCharsets.US_ASCII);
        byte[] digits = String.format("%0" + DIGITS + "d", number).getBytes(StandardCharsets.US_ASCII);
        for (int at = 0; at + name.length + DIGITS <= file.length; at++) {
            int same = 0;
            while (same < name.length && file[at + same] == name[same]) {
                same++;
            }
            if (same == name.length) {
                System.arraycopy(digits, 0, file, at + same, DIGITS);
            }
        }
    }
}
