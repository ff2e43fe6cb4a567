import java.io.File;
import java.io.IOException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;

/**
 * {@code LinkEveryClass JAR...}: links, and so verifies, every class of each jar without running any of its code. Prints
 * {@code FAILED jar class error} for a class that the JVM refuses, and one line of figures for each jar. A class that
 * cannot be linked because something it needs is missing or does not fit is only counted.
 */
public final class LinkEveryClass {
    private int linked;
    private int incomplete;
    private int failed;

    public static void main(String[] jars) throws IOException {
        for (String jar : jars) {
            new LinkEveryClass().linkAll(new File(jar));
        }
    }

    private void linkAll(File jar) throws IOException {
        ClassLoader platform = ClassLoader.getPlatformClassLoader();
        try (JarFile file = new JarFile(jar, false); URLClassLoader loader = new URLClassLoader(urls(jar), platform)) {
            for (String name : classNames(file)) {
                link(name, loader, jar.getName());
            }
        }
        System.out.println("LINKED " + jar.getName() + " " + linked + " incomplete " + incomplete + " failed " + failed);
    }

    private static URL[] urls(File jar) throws MalformedURLException {
        return new URL[] {jar.toURI().toURL()};
    }

    private static List<String> classNames(JarFile file) {
        return Collections.list(file.entries()).stream()
                .map(JarEntry::getName)
                .filter(name -> name.endsWith(".class") && !name.endsWith("module-info.class"))
                .filter(name -> !name.startsWith("META-INF/") && !name.contains("-INF/"))
                .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                .sorted()
                .collect(Collectors.toList());
    }

    private void link(String name, ClassLoader loader, String jar) {
        try {
            // Asking for the constructors makes the JVM link the class, but does not initialise it.
            Class.forName(name, false, loader).getDeclaredConstructors();
            linked++;
        } catch (NoClassDefFoundError | ClassNotFoundException | TypeNotPresentException missing) {
            incomplete++;
        } catch (UnsupportedClassVersionError | IncompatibleClassChangeError otherVersion) {
            // Something it needs is there, but too new for this JVM, or of another version than it was compiled against.
            incomplete++;
        } catch (LinkageError refused) {
            failed++;
            String message = String.valueOf(refused.getMessage()).lines().findFirst().orElse("");
            System.out.println("FAILED " + jar + " " + name + " " + refused.getClass().getSimpleName() + ": " + message);
        } catch (SecurityException prohibited) {
            // Classes in packages of the JDK, which only the JDK may define.
            incomplete++;
        }
    }
}
