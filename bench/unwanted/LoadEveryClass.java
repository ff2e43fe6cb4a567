import java.io.File;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** {@code LoadEveryClass JAR...}: loads every class of the jars with one loader, on one thread, without running any of its code. */
public final class LoadEveryClass {
    private LoadEveryClass() {}

    public static void main(String[] jars) throws Exception {
        int loaded = 0;
        try (URLClassLoader loader = new URLClassLoader(Arrays.stream(jars).map(LoadEveryClass::url).toArray(URL[]::new))) {
            for (String name : classNames(jars)) {
                try {
                    Class.forName(name, false, loader);
                    loaded++;
                } catch (LinkageError | ClassNotFoundException missing) {
                    // Something that it needs is in none of the jars.
                }
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
