import java.io.IOException;
import java.io.InputStream;

/** Prints what the application's loader finds under each name: the text of the file, a dash, or an exclamation mark if it fails. */
public final class ShowResources {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            try (InputStream file = ClassLoader.getSystemResourceAsStream(name + ".class")) {
                System.out.println(name + " " + (file == null ? "-" : new String(file.readAllBytes(), "UTF-8")));
            } catch (IOException | RuntimeException damaged) {
                System.out.println(name + " !");
            }
        }
    }
}
