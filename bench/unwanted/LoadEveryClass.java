import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * {@code LoadEveryClass application | own JAR...}: loads every class of the jars with one loader, on one thread, without running any of
 * its code. The loader is the one of the application, on whose class path the jars must stand, or one of its own.
 */
public final class LoadEveryClass {
    private LoadEveryClass() {}

    public static void main(String[] arguments) throws Exception {
        String[] jars = Arrays.copyOfRange(arguments, 1, arguments.length);
        if (arguments[0].equals("application")) {
            load(ClassLoader.getSystemClassLoader(), jars);
            return;
        }
        try (URLClassLoader loader = new URLClassLoader(Arrays.stream(jars).map(LoadEveryClass::url).toArray(URL[]::new))) {
            load(loader, jars);
        }
    }

    private static void load(ClassLoader loader, String[] jars) throws Exception {
        int loaded = 0;
        for (String name : classNames(jars)) {
            try {
                Class.forName(name, false, loader);
                loaded++;
            } catch (LinkageError | ClassNotFoundException missing) {
                // Something that it needs is in none of the jars. No application loads such classes by the thousand.
                System.out.println("not loaded " + name.replace('.', '/'));
            }
        }
        System.out.println("loaded " + loaded);
    }

    private static URL url(String jar) {
        try {
            return new File(jar).toURI().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(jar, e);
        }
    }

    private static List<String> classNames(String[] jars) throws Exception {
        List<String> names = new ArrayList<>();
        for (String jar : jars) {
            try (JarFile file = new JarFile(jar, false)) {
                file.stream()
                        .map(JarEntry::getName)
                        .filter(name -> name.endsWith(".class") && !name.startsWith("META-INF/") && !name.contains("-"))
                        .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                        .forEach(names::add);
            }
        }
        return names;
    }
}
