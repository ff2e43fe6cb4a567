package io.instr.jvmtests.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.files.ReadOnlyFileSystem;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Instrumented methods reach the runtime classes from wherever they stand. */
class VisibilityIT {

    @EachJdk
    void fromNamedModules(Jdk jdk) {
        Path modules = RunDirectories.create();
        Path sources = BuildResult.TARGET_SOURCES.path().resolve("modules");
        List<String> arguments = new ArrayList<>(
                List.of("--release", "11", "-d", modules.toString(), "--module-source-path", sources.toString()));
        arguments.addAll(Compilation.sourcesBelow(sources));
        Compilation.javac(arguments);

        Program program = Program.of(jdk, List.of("-p", modules.toString(), "-Xverify:all"), List.of("-m", "app/app.Main"));
        Finished run = program.compare(AgentConfig.timed("app.**", "greeter.**"));
        assertEquals(3, run.trace().count("app.Main.line"));
        assertEquals(3, run.trace().count("greeter.Greeter$Hidden.decorate"));
    }

    @EachJdk
    void fromALoaderThatDelegatesOnlyJava(Jdk jdk) {
        AgentConfig config = AgentConfig.timed("targets.ClosedWorld$Guest");
        Finished run = Program.target(jdk, "targets.ClosedWorld").with("-Xverify:all").compare(config);
        assertEquals(4, run.trace().count("targets.ClosedWorld$Guest.twice"));
    }

    @EachJdk
    void onAReadOnlyFileSystem(Jdk jdk) {
        Path writable = RunDirectories.create();
        Program program = Program.target(jdk, "targets.Hello").startedBy(ReadOnlyFileSystem.exceptFor(writable));
        AgentConfig config = AgentConfig.timed("targets.Hello");
        String text = config.text()
                .replace("\"trace.jfr\"", "\"" + writable.resolve("trace.jfr") + "\"")
                .replace("\"stats.json\"", "\"" + writable.resolve("stats.json") + "\"");

        Finished run = program.compare(AgentConfig.verbatim(text));
        assertEquals(3, Finished.in(writable).trace().count("targets.Hello.greet"));
        assertTrue(run.stdout().contains("2 hello world"));
    }
}
