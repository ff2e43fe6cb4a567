package targets;

import java.io.IOException;
import java.io.InputStream;

/** Loads {@link Guest} by a class loader that, like OSGi's, asks nobody for anything but {@code java.*}. */
public final class ClosedWorld {

    private ClosedWorld() {}

    public static void main(String[] arguments) throws Exception {
        Class<?> guest = new BundleLoader().loadClass("targets.ClosedWorld$Guest");
        Object answer = guest.getMethod("run").invoke(guest.getConstructor().newInstance());
        System.out.println(answer + " " + (guest.getClassLoader() instanceof BundleLoader) + " " + (guest == Guest.class));
    }

    /** Sees its own classes and {@code java.*}. */
    static final class BundleLoader extends ClassLoader {

        BundleLoader() {
            super(null);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("java.")) {
                return ClassLoader.getPlatformClassLoader().loadClass(name);
            }
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : define(name);
        }

        private Class<?> define(String name) throws ClassNotFoundException {
            if (!name.startsWith("targets.ClosedWorld$Guest")) {
                throw new ClassNotFoundException(name + " is not in this bundle");
            }
            try (InputStream in = ClosedWorld.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    /** Lives in the bundle. */
    public static final class Guest {

        public Guest() {}

        public String run() {
            StringBuilder text = new StringBuilder();
            for (int i = 0; i < 4; i++) {
                text.append(twice(i)).append(' ');
            }
            return text.toString();
        }

        int twice(int n) {
            return 2 * n;
        }
    }
}
