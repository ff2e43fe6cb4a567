package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace.Call;
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/** The built-in template calls the agent's runtime; one of the user's stores its records in line. Both see the same calls. */
class RecordingStylesIT {

    private static final Path SOURCES = Path.of("src/test/user-templates/styles").toAbsolutePath();
    /** What two readings of the clock and the conversion of units may differ by. */
    private static final long TOLERANCE_NANOS = 1000;
    /** Of the length of a tick of the processor's counter, see {@link ClockIT}. */
    private static final double CLOCK_ERROR = 20e-6;

    @EachJdk
    void callingOutAndRecordingInLineGiveTheSameRecords(Jdk jdk) {
        Path jar = templates();
        String classPath = BuildResult.TARGETS.path() + File.pathSeparator + jar;
        Program program = Program.of(jdk, List.of("-cp", classPath), List.of("targets.features.AllFeatures"));
        Finished run = program.withAgent(AgentConfig.of("", "templates = [\"" + jar + "\"]", """
                [[rule]]
                class = "targets.features.Recursion"
                method = ["fibonacci", "isEven", "isOdd", "ackermann"]
                template = ["timed", "in-line"]
                level = "time"
                """).ungoverned()).assertExitCode(0);

        List<String> inLine = run.stdout().lines().filter(line -> line.startsWith("# ")).toList();
        List<Call> calledOut = new ArrayList<>(run.trace().calls());
        assertEquals(calledOut.size(), inLine.size());
        assertTrue(inLine.size() > 1000, inLine.size() + " calls");
        // Calls that end in the same nanosecond end from the inside out: the inner one began later.
        calledOut.sort(Comparator.comparingLong(Call::end).thenComparing(Comparator.comparingLong(Call::start).reversed()));
        for (int i = 0; i < inLine.size(); i++) {
            String[] words = inLine.get(i).split(" ");
            assertEquals(calledOut.get(i).name(), words[1], "record " + i);
            long inner = Long.parseLong(words[2]);
            assertTrue(inner * (1 - CLOCK_ERROR) <= calledOut.get(i).duration() + TOLERANCE_NANOS, "record " + i + ": the outer template takes longer");
        }
    }

    private static Path templates() {
        Path classes = RunDirectories.create();
        List<String> arguments = new ArrayList<>(List.of("--release", "8", "-Xlint:-options", "-d", classes.toString(),
                "-cp", BuildResult.JAVA_RUNTIME.path().toString()));
        arguments.addAll(Compilation.sourcesBelow(SOURCES));
        Compilation.javac(arguments);
        return Compilation.jar(classes, RunDirectories.create().resolve("styles.jar"));
    }
}
