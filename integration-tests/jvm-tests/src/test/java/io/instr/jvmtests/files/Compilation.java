package io.instr.jvmtests.files;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/** Compiles sources while the tests run: where the class files themselves are what is tested. */
public final class Compilation {

    private Compilation() {}

    /** With the compiler of the JVM that runs the tests. */
    public static void javac(List<String> arguments) {
        StringWriter output = new StringWriter();
        PrintWriter printer = new PrintWriter(output);
        int status = ToolProvider.findFirst("javac")
                .orElseThrow(() -> new IllegalStateException("the tests must run on a JDK"))
                .run(printer, printer, arguments.toArray(String[]::new));
        assertEquals(0, status, () -> "javac " + arguments + "\n" + output);
    }

    /** With the compiler of a JDK under test, for what only that one knows. */
    public static void javac(Jdk jdk, Path directory, List<Path> sources) {
        List<String> arguments = new ArrayList<>(List.of("-d", directory.toString()));
        sources.forEach(source -> arguments.add(source.toString()));
        Tool.run(jdk, "javac", arguments).assertExitCode(0);
    }

    /** A directory with the classes of these sources, each of which is one public type of a package with one name. */
    public static Path compiled(Path root, String name, List<Path> classPath, String... sources) {
        return compiledWith(List.of(), root, name, classPath, sources);
    }

    /** The same with more options. */
    public static Path compiledWith(List<String> options, Path root, String name, List<Path> classPath, String... sources) {
        Path classes = root.resolve(name);
        List<String> arguments = new ArrayList<>(List.of("--release", "11", "-d", classes.toString()));
        arguments.addAll(options);
        arguments.addAll(List.of("-cp", String.join(":", classPath.stream().map(Path::toString).toList())));
        for (String source : sources) {
            String simple = source.replaceAll("(?s).*?public (?:abstract )?(?:class|interface) (\\w+).*", "$1");
            String folder = source.replaceAll("(?s)^package ([\\w.]+);.*", "$1");
            arguments.add(write(root.resolve(name + "-sources").resolve(folder).resolve(simple + ".java"), source).toString());
        }
        javac(arguments);
        return classes;
    }

    public static Path write(Path file, String text) {
        try {
            Files.createDirectories(file.getParent());
            return Files.writeString(file, text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    public static List<String> sourcesBelow(Path directory) {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.map(Path::toString).filter(file -> file.endsWith(".java")).sorted().toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Packs everything below a directory. */
    public static Path jar(Path directory, Path jar) {
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file);
                Stream<Path> files = Files.walk(directory)) {
            for (Path path : files.filter(Files::isRegularFile).sorted().toList()) {
                out.putNextEntry(new JarEntry(directory.relativize(path).toString()));
                Files.copy(path, out);
                out.closeEntry();
            }
            return jar;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
