package io.instr.jvmtests.verifiers;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.io.OutputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Classes as they are, and what {@code instr pre} makes of them with every method instrumented. */
final class InstrumentedSample {

    /** Of each jar this many classes, evenly spread; all of them with a large number. */
    private static final int OF_EACH_JAR = Integer.getInteger("instr.sample.classes", 70);

    final Path originals;
    final Path instrumented;
    final long methodsInstrumented;
    private final List<Path> libraries;

    private InstrumentedSample(Path originals, Path instrumented, long methodsInstrumented, List<Path> libraries) {
        this.originals = originals;
        this.instrumented = instrumented;
        this.methodsInstrumented = methodsInstrumented;
        this.libraries = libraries;
    }

    static InstrumentedSample at(String level) throws IOException, InterruptedException {
        Path directory = RunDirectories.create();
        Path originals = directory.resolve("sample.jar");
        List<Path> jars = new ArrayList<>(SampleJars.all());
        write(chosen(jars), originals);
        Path config = Files.writeString(directory.resolve("instr.toml"), """
                [filter]
                leaf = false
                max-bytes = 0
                [[rule]]
                class = "**"
                template = "timed"
                level = "%s"
                constructors = true
                class-initialisers = true
                bridges = true
                """.formatted(level));
        Path output = directory.resolve("instrumented");
        String classPath = jars.stream().map(Path::toString).collect(Collectors.joining(":"));
        JsonNode figures = pre(List.of("--config", config.toString(), "--output", output.toString(), "--class-path", classPath,
                "--java-home", System.getProperty("java.home"), "--json", originals.toString()));
        return new InstrumentedSample(originals, output.resolve("sample.jar"), figures.get("methods_instrumented").asLong(), jars);
    }

    /** Class files by class name. */
    static Map<String, byte[]> classesOf(Path jar) throws IOException {
        Map<String, byte[]> classes = new TreeMap<>();
        try (JarFile file = new JarFile(jar.toFile())) {
            for (JarEntry entry : file.stream().filter(InstrumentedSample::isClass).toList()) {
                String name = entry.getName().substring(0, entry.getName().length() - ".class".length());
                classes.put(name.replace('/', '.'), file.getInputStream(entry).readAllBytes());
            }
        }
        return classes;
    }

    /** Finds the super types of the classes, and the runtime that the instrumented ones call. */
    URLClassLoader superTypes() {
        List<URL> urls = new ArrayList<>(Stream.concat(libraries.stream(), SampleJars.classPath()).map(InstrumentedSample::url)
                .toList());
        urls.add(url(BuildResult.TARGETS_JAR.path()));
        urls.add(url(BuildResult.JAVA_RUNTIME.path()));
        return new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }

    /** The same as a class path. */
    String classPath() {
        return Arrays.stream(superTypes().getURLs()).map(URL::getPath).collect(Collectors.joining(":"));
    }

    private static Map<String, byte[]> chosen(List<Path> jars) throws IOException {
        Map<String, byte[]> chosen = classesOf(BuildResult.TARGETS_JAR.path());
        for (Path jar : jars) {
            Map<String, byte[]> all = classesOf(jar);
            int step = all.size() / OF_EACH_JAR + 1;
            int number = 0;
            for (Map.Entry<String, byte[]> entry : all.entrySet()) {
                if (number++ % step == 0) {
                    chosen.putIfAbsent(entry.getKey(), entry.getValue());
                }
            }
        }
        return chosen;
    }

    private static void write(Map<String, byte[]> classes, Path jar) throws IOException {
        try (OutputStream file = Files.newOutputStream(jar); JarOutputStream out = new JarOutputStream(file)) {
            for (Map.Entry<String, byte[]> entry : classes.entrySet()) {
                out.putNextEntry(new JarEntry(entry.getKey().replace('.', '/') + ".class"));
                out.write(entry.getValue());
                out.closeEntry();
            }
        }
    }

    /** Runs {@code instr pre}; the command line is in the agent's directory. */
    private static JsonNode pre(List<String> arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(BuildResult.AGENT.path().resolveSibling("instr").toString(), "pre"));
        command.addAll(arguments);
        Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        JsonNode figures = new ObjectMapper().readTree(process.getInputStream());
        assertEquals(0, process.waitFor(), () -> String.join(" ", command));
        return figures;
    }

    private static boolean isClass(JarEntry entry) {
        String name = entry.getName();
        return name.endsWith(".class") && !name.endsWith("module-info.class") && !name.startsWith("META-INF/") && !name.contains("-INF/");
    }

    private static URL url(Path path) {
        try {
            return path.toUri().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(e);
        }
    }
}
