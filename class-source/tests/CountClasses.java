import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Stream;

/** Prints how many class files the run-time image of this JVM holds. */
public final class CountClasses {
    public static void main(String[] arguments) throws Exception {
        Path modules = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules");
        try (Stream<Path> files = Files.walk(modules)) {
            System.out.println(files.filter(file -> file.toString().endsWith(".class")).count());
        }
    }
}
