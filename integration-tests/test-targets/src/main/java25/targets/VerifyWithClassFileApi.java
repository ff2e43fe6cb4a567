package targets;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * {@code VerifyWithClassFileApi ORIGINALS INSTRUMENTED CLASSPATH}: prints {@code FAULT class message} for each class of the
 * second jar that the JDK's own library for class files refuses although it accepts the one of the first jar.
 */
public final class VerifyWithClassFileApi {

    private final ClassFile verifier;
    private int accepted;

    private VerifyWithClassFileApi(ClassLoader superTypes) {
        ClassHierarchyResolver resolver = ClassHierarchyResolver.ofResourceParsing(superTypes)
                .orElse(ClassHierarchyResolver.defaultResolver());
        verifier = ClassFile.of(ClassFile.ClassHierarchyResolverOption.of(resolver));
    }

    public static void main(String[] arguments) throws IOException {
        URL[] urls = List.of(arguments[2].split(":")).stream().map(VerifyWithClassFileApi::url).toArray(URL[]::new);
        try (URLClassLoader superTypes = new URLClassLoader(urls);
                JarFile originals = new JarFile(arguments[0]);
                JarFile instrumented = new JarFile(arguments[1])) {
            VerifyWithClassFileApi verify = new VerifyWithClassFileApi(superTypes);
            for (JarEntry entry : instrumented.stream().filter(entry -> entry.getName().endsWith(".class")).toList()) {
                verify.compare(entry.getName(), bytes(originals, entry), bytes(instrumented, entry));
            }
            System.out.println("accepted " + verify.accepted);
        }
    }

    private void compare(String name, byte[] original, byte[] instrumented) {
        if (!faults(original).isEmpty()) {
            return;
        }
        List<String> faults = faults(instrumented);
        faults.forEach(fault -> System.out.println("FAULT " + name + " " + fault));
        accepted += faults.isEmpty() ? 1 : 0;
    }

    private List<String> faults(byte[] bytes) {
        try {
            return verifier.verify(bytes).stream().map(Throwable::getMessage).toList();
        } catch (IllegalArgumentException unreadable) {
            return List.of(unreadable.toString());
        }
    }

    private static byte[] bytes(JarFile jar, JarEntry entry) throws IOException {
        try (InputStream in = jar.getInputStream(jar.getJarEntry(entry.getName()))) {
            return in.readAllBytes();
        }
    }

    private static URL url(String path) {
        try {
            return new File(path).toURI().toURL();
        } catch (java.net.MalformedURLException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
