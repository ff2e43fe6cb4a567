package io.instr.jvmtests.jvm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/** A JVM to run programs on. */
public record Jdk(Path home, int feature) {

    private static final List<Jdk> UNDER_TEST = read();

    /** The JDKs that {@code -Dinstr.jdks} or {@code INSTR_JDKS} names (homes, separated by commas), or the one that runs the tests. */
    public static List<Jdk> underTest() {
        return UNDER_TEST;
    }

    public Path java() {
        return tool("java");
    }

    /** A program of this JDK; a plain run-time image lacks some. */
    public Path tool(String name) {
        return home.resolve("bin").resolve(name);
    }

    public boolean has(String tool) {
        return Files.isExecutable(tool(tool));
    }

    @Override
    public String toString() {
        return "JDK " + feature;
    }

    private static List<Jdk> read() {
        String homes = Stream.of(System.getProperty("instr.jdks"), System.getenv("INSTR_JDKS"))
                .filter(text -> text != null && !text.isBlank())
                .findFirst()
                .orElse(System.getProperty("java.home"));
        return Arrays.stream(homes.split(",")).map(String::strip).map(home -> of(Path.of(home))).toList();
    }

    private static Jdk of(Path home) {
        try (Stream<String> lines = Files.lines(home.resolve("release"))) {
            String version = lines.filter(line -> line.startsWith("JAVA_VERSION="))
                    .findFirst()
                    .orElseThrow(() -> new IllegalArgumentException(home + "/release names no JAVA_VERSION"))
                    .replaceAll("JAVA_VERSION=|\"", "");
            return new Jdk(home, Runtime.Version.parse(version).feature());
        } catch (IOException e) {
            throw new UncheckedIOException("not a JDK: " + home, e);
        }
    }
}
