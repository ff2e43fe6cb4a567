package targets.library;

import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Has the JVM load and link, and so verify, every class of java.base. */
final class ModuleLinking {

    private ModuleLinking() {}

    /** One line for each class that cannot be linked, then how many could. */
    static List<String> linkJavaBase() throws IOException {
        List<String> lines = new ArrayList<>();
        int linked = 0;
        for (String name : classes()) {
            try {
                // Asking for the constructors makes the JVM link the class, but does not initialise it.
                Class.forName(name, false, null).getDeclaredConstructors();
                linked++;
            } catch (ClassNotFoundException | LinkageError refused) {
                lines.add(name + ": " + refused);
            }
        }
        lines.add("linked: " + linked);
        return lines;
    }

    private static List<String> classes() throws IOException {
        Path module = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules/java.base");
        try (Stream<Path> files = Files.walk(module)) {
            return files.map(file -> module.relativize(file).toString())
                    .filter(file -> file.endsWith(".class") && !file.equals("module-info.class"))
                    .map(file -> file.substring(0, file.length() - ".class".length()).replace('/', '.'))
                    .sorted()
                    .collect(Collectors.toList());
        }
    }
}
