import java.io.InputStream;

/** Prints what the application's loader finds under each name: the text of the file, or a dash. */
public final class ShowResources {
    public static void main(String[] names) throws Exception {
        for (String name : names) {
            try (InputStream file = ClassLoader.getSystemResourceAsStream(name + ".class")) {
                System.out.println(name + " " + (file == null ? "-" : new String(file.readAllBytes(), "UTF-8")));
            }
        }
    }
}
