package targets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.ref.WeakReference;
import java.util.concurrent.CountDownLatch;
import java.util.function.Supplier;

/**
 * A class that is being defined for as long as somebody likes: when the JVM has shown it to an agent, it asks the loader for the super
 * class, and that one waits. Another class is loaded but not linked.
 */
public final class SlowDefinition {

    private static final StackWalker WALKER = StackWalker.getInstance();
    private static final CountDownLatch ASKED = new CountDownLatch(1);
    private static final CountDownLatch ANSWERED = new CountDownLatch(1);

    private SlowDefinition() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        Class<?>[] defined = new Class<?>[2];
        Thread definer = new Thread(() -> defined[0] = new SlowLoader(true).define("targets.SlowDefinition$Derived"));
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); !line.equals("quit"); line = commands.readLine()) {
            if (line.equals("lose")) {
                lose();
                System.out.println("the loader is gone");
            } else if (line.equals("begin")) {
                defined[1] = new SlowLoader(true).define("targets.SlowDefinition$Unlinked");
                definer.start();
                ASKED.await();
                System.out.println("the super class is asked for");
            } else {
                ANSWERED.countDown();
                definer.join();
                System.out.println(positionIn(defined[0]) + " " + positionIn(defined[1]));
            }
        }
    }

    /** Waits until the loader is gone of a class that was shown to an agent and never defined. */
    private static void lose() {
        WeakReference<ClassLoader> loader = new WeakReference<>(loaderInVain());
        while (loader.get() != null) {
            System.gc();
        }
    }

    private static ClassLoader loaderInVain() {
        SlowLoader loader = new SlowLoader(false);
        try {
            loader.define("targets.SlowDefinition$Derived");
        } catch (NoClassDefFoundError wanted) {
            return loader;
        }
        throw new IllegalStateException("defined without its super class");
    }

    @SuppressWarnings("unchecked")
    private static String positionIn(Class<?> defined) throws ReflectiveOperationException {
        return ((Supplier<String>) defined.getDeclaredConstructor().newInstance()).get();
    }

    /** Returns the bytecode index of the call of this method in its caller: it moves when something is merged before it. */
    public static String position() {
        return WALKER.walk(frames -> frames.skip(1).findFirst().orElseThrow(IllegalStateException::new)).getByteCodeIndex() + "";
    }

    /** Takes its time with the super class, or has none. */
    private static final class SlowLoader extends ClassLoader {

        private final boolean answers;

        SlowLoader(boolean answers) {
            super(SlowDefinition.class.getClassLoader());
            this.answers = answers;
        }

        Class<?> define(String name) {
            try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.endsWith("$Base")) {
                if (!answers) {
                    throw new ClassNotFoundException(name);
                }
                ASKED.countDown();
                try {
                    ANSWERED.await();
                } catch (InterruptedException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
            return super.loadClass(name, resolve);
        }
    }

    /** Comes late. */
    public abstract static class Base implements Supplier<String> {}

    /** Waits for it. */
    public static final class Derived extends Base {

        public Derived() {}

        @Override
        public String get() {
            return position();
        }
    }

    /** Is loaded at once, and linked when it is used. */
    public static final class Unlinked implements Supplier<String> {

        public Unlinked() {}

        @Override
        public String get() {
            return position();
        }
    }
}
