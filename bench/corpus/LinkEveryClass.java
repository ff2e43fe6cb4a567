import java.io.File;
import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Collections;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * {@code LinkEveryClass JAR...}: links, and so verifies, every class of each jar without running any of its code. Prints
 * {@code FAILED jar class error} for a class that the JVM refuses, and one line of figures for each jar. A class that
 * cannot be linked because something it needs is missing or does not fit is only counted.
 *
 * <p>{@code LinkEveryClass --instead DIR JAR...}: the classes of {@code DIR/JAR/} take the place of those in the jar.
 *
 * <p>{@code LinkEveryClass --image DIR}: does the same for the modules of the JVM's own image; the names of the classes are those of
 * the files {@code DIR/MODULE/CLASS.class}, but what is linked is what the JVM has under these names, which
 * {@code --patch-module} decides. Not for java.base, whose classes run before anybody could ask.
 */
public final class LinkEveryClass {
    private int linked;
    private int incomplete;
    private int failed;

    public static void main(String[] jars) throws IOException {
        if (jars.length == 2 && jars[0].equals("--image")) {
            linkImage(Paths.get(jars[1]));
            return;
        }
        boolean instead = jars[0].equals("--instead");
        for (int i = instead ? 2 : 0; i < jars.length; i++) {
            File jar = new File(jars[i]);
            URL own = jar.toURI().toURL();
            URL[] path = instead ? new URL[] {new File(jars[1], jar.getName()).toURI().toURL(), own} : new URL[] {own};
            new LinkEveryClass().linkAll(jar, path);
        }
    }

    private void linkAll(File jar, URL[] path) throws IOException {
        ClassLoader platform = ClassLoader.getPlatformClassLoader();
        try (JarFile file = new JarFile(jar, false); URLClassLoader loader = new URLClassLoader(path, platform)) {
            for (String name : classNames(file)) {
                link(name, () -> Class.forName(name, false, loader), jar.getName());
            }
        }
        printFigures(jar.getName());
    }

    private static void linkImage(Path modules) throws IOException {
        for (Module module : ModuleLayer.boot().modules()) {
            Path classes = modules.resolve(module.getName());
            if (!module.getName().equals("java.base") && Files.isDirectory(classes)) {
                LinkEveryClass links = new LinkEveryClass();
                for (String name : classNames(classes)) {
                    links.link(name, () -> Class.forName(module, name), module.getName());
                }
                links.printFigures(module.getName());
            }
        }
    }

    private static List<String> classNames(Path module) throws IOException {
        try (Stream<Path> files = Files.walk(module)) {
            return files.map(file -> module.relativize(file).toString())
                    .filter(name -> name.endsWith(".class") && !name.equals("module-info.class"))
                    .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }

    private void printFigures(String place) {
        System.out.println("LINKED " + place + " " + linked + " incomplete " + incomplete + " failed " + failed);
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

    private interface Loading {
        Class<?> load() throws ClassNotFoundException;
    }

    private void link(String name, Loading loading, String place) {
        try {
            Class<?> loaded = loading.load();
            if (loaded == null) {
                incomplete++;
                return;
            }
            // Asking for the constructors makes the JVM link the class, but does not initialise it.
            loaded.getDeclaredConstructors();
            linked++;
        } catch (NoClassDefFoundError | ClassNotFoundException | TypeNotPresentException missing) {
            incomplete++;
        } catch (UnsupportedClassVersionError | IncompatibleClassChangeError otherVersion) {
            // Something it needs is there, but too new for this JVM, or of another version than it was compiled against.
            incomplete++;
        } catch (LinkageError refused) {
            failed++;
            String message = String.valueOf(refused.getMessage()).lines().findFirst().orElse("");
            System.out.println("FAILED " + place + " " + name + " " + refused.getClass().getSimpleName() + ": " + message);
        } catch (SecurityException prohibited) {
            // Classes in packages of the JDK, which only the JDK may define.
            incomplete++;
        }
    }
}
