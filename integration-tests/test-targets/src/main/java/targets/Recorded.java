package targets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;

/** Does what each line on standard input says and answers with one line: for tests of what recordings keep and when they end. */
public final class Recorded {

    /** Lives in loaders that come and go. */
    public static final class Guest implements Runnable {
        @Override
        public void run() {
            visits++;
        }

        private static int visits;
    }

    /** Each defines its own {@code Guest}. */
    private static final class OwnLoader extends ClassLoader {
        private final byte[] guest;

        OwnLoader(byte[] guest) {
            super(Recorded.class.getClassLoader());
            this.guest = guest;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("targets.Recorded$Guest")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            return known != null ? known : defineClass(name, guest, 0, guest.length);
        }
    }

    private static final byte[] GUEST = bytes("Recorded$Guest.class");
    /** Volatile: every object is really made. */
    static volatile Object kept;

    private Recorded() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            int number = words.length > 1 ? Integer.parseInt(words[1]) : 0;
            switch (words[0]) {
                case "work":
                    System.out.println("sum " + work(number));
                    break;
                case "slow":
                    slow(number);
                    System.out.println("slow");
                    break;
                case "pause":
                    Thread.sleep(number);
                    System.out.println("paused");
                    break;
                case "loaders":
                    System.out.println("dropped " + loaders(number));
                    break;
                case "child":
                    System.out.println("child " + child(number));
                    break;
                case "allocate":
                    System.out.println("allocated " + allocate(number));
                    break;
                case "resident":
                    System.gc();
                    System.out.println(MemoryGrowth.residentKilobytes());
                    break;
                case "quit":
                    return;
                default:
                    System.out.println("? " + line);
            }
        }
    }

    /** The exit code of another JVM, with the same options from the environment, that does so many steps. */
    private static int child(int steps) throws Exception {
        String java = System.getProperty("java.home") + "/bin/java";
        Process child = new ProcessBuilder(java, "-Xmx64m", "-cp", System.getProperty("java.class.path"), "targets.Recorded")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (OutputStream input = child.getOutputStream()) {
            input.write(("work " + steps + "\nquit\n").getBytes(StandardCharsets.US_ASCII));
        }
        return child.waitFor();
    }

    private static long work(int steps) {
        long sum = 0;
        for (int i = 0; i < steps; i++) {
            sum += step(i);
        }
        return sum;
    }

    static long step(int i) {
        return (long) i * i % 7;
    }

    static void slow(int milliseconds) throws InterruptedException {
        Thread.sleep(milliseconds);
    }

    /** Makes loaders, uses and drops them; returns when the collector has taken the last. */
    static int loaders(int count) throws Exception {
        WeakReference<ClassLoader> last = null;
        for (int number = 0; number < count; number++) {
            ClassLoader loader = new OwnLoader(GUEST);
            ((Runnable) loader.loadClass("targets.Recorded$Guest").getDeclaredConstructor().newInstance()).run();
            last = new WeakReference<>(loader);
        }
        while (last != null && last.get() != null) {
            System.gc();
            Thread.sleep(10);
        }
        return count;
    }

    /** So many MiB, three quarters of them as arrays of bytes. */
    static long allocate(int megabytes) {
        long bytes = 0;
        for (int turn = 0; turn < megabytes * 256; turn++) {
            bytes += arrays() + lists();
        }
        return bytes;
    }

    /** 3 KiB. */
    static long arrays() {
        for (int i = 0; i < 3; i++) {
            kept = new byte[1024 - 16];
        }
        return 3 * 1024;
    }

    /** A KiB: 42 lists of 24 bytes, and 16 bytes that are missing. */
    static long lists() {
        for (int i = 0; i < 42; i++) {
            kept = new ArrayList<>();
        }
        return 1024;
    }

    private static byte[] bytes(String name) {
        try (InputStream resource = Recorded.class.getResourceAsStream(name)) {
            return resource.readAllBytes();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
