package targets;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Arrays;

/** Links every class of each folder, so that the verifier sees it, and prints those it refuses. */
final class LinkAll {
    private LinkAll() {}

    public static void main(String[] folders) throws Exception {
        int linked = 0;
        for (String folder : folders) {
            URL[] path = {new File(folder).toURI().toURL()};
            try (URLClassLoader loader = new URLClassLoader(path, LinkAll.class.getClassLoader())) {
                File[] files = new File(folder).listFiles((parent, name) -> name.endsWith(".class"));
                Arrays.sort(files);
                for (File file : files) {
                    String name = file.getName().substring(0, file.getName().length() - ".class".length());
                    try {
                        Class.forName(name, true, loader);
                        linked++;
                    } catch (Throwable thrown) {
                        String reason = thrown.toString().replace('\n', '|');
                        System.out.println("refused " + new File(folder).getName() + "/" + name + ": " + reason);
                    }
                }
            }
        }
        System.out.println("linked " + linked);
    }
}
