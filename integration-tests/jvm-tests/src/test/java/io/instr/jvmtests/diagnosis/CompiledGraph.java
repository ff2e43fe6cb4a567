package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.tools.ToolProvider;

/** Compiles a {@link RandomGraph} for the oldest JVM under test, with the compiler of the JDK that runs the tests. */
final class CompiledGraph {

    private CompiledGraph() {}

    /** The program, whose classes are in this directory. */
    static Program of(RandomGraph graph, Jdk jdk, Path directory) {
        String targets = BuildResult.TARGETS.path().toString();
        try {
            Path source = directory.resolve("targets/graph/Graph.java");
            Files.createDirectories(source.getParent());
            Files.writeString(source, graph.source());
            int status = ToolProvider.getSystemJavaCompiler().run(null, null, null, "--release", "11", "-cp", targets, "-d", directory.toString(),
                    source.toString());
            assertEquals(0, status, () -> graph + " does not compile: " + source);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Program.of(jdk, List.of("-cp", directory + ":" + targets), List.of(RandomGraph.CLASS));
    }
}
