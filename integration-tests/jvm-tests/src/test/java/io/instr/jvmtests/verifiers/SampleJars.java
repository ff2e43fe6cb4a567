package io.instr.jvmtests.verifiers;

import java.io.File;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

/**
 * Jars of many compilers, to instrument and to damage. They are dependencies of this module for no other reason.
 */
public final class SampleJars {

    /** Java 1.1 to 1.4 (no frames, subroutines), Java 8 and 17, Kotlin, Scala, Groovy. */
    private static final List<String> NAMES = List.of(
            "antlr-2", "commons-collections-3", "jackson-databind", "asm-9", "flightrecorder", "kotlin-stdlib", "scala-library",
                    "groovy");

    private SampleJars() {}

    /** The jars of {@code -Dinstr.sample.jars=JAR,JAR}, or else those of {@link #NAMES}. */
    static List<Path> all() {
        String given = System.getProperty("instr.sample.jars", "");
        if (!given.isBlank()) {
            return Arrays.stream(given.split(",")).map(Path::of).toList();
        }
        return NAMES.stream().map(SampleJars::named).toList();
    }

    /** The jar on the class path of the tests whose file name begins like this. */
    public static Path named(String name) {
        return classPath()
                .filter(jar -> jar.getFileName().toString().startsWith(name))
                .findFirst()
                .orElseThrow(() -> new IllegalStateException("no jar " + name + "* on the class path of the tests"));
    }

    /** All jars on the class path of the tests: what the classes of the others refer to is among them. */
    static Stream<Path> classPath() {
        return Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(entry -> entry.endsWith(".jar"))
                .map(Path::of);
    }
}
