package io.instr.jvmtests.rewriting;

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
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The application brings a timer class of its own, and a template that puts one object of it around every call: in 64
 * threads that recurse, some calls ended by an exception, its counts must be those of the program.
 */
class TimerClassIT {

    private static final Path SOURCES = Path.of("src/test/user-templates/timers").toAbsolutePath();
    private static final String WORK = "targets.Crowd$Work";

    @EachJdk
    void namesTheMethodInOneString(Jdk jdk) {
        assertCounts(run(jdk, "one-string"));
    }

    @EachJdk
    void namesClassAndMethodApart(Jdk jdk) {
        assertCounts(run(jdk, "two-strings"));
    }

    @EachJdk
    void namesTheMethodByItsNumber(Jdk jdk) {
        Finished run = run(jdk, "number");
        Map<String, Long> timers = timerCounts(run);
        assertTrue(timers.keySet().stream().allMatch(name -> name.matches("id [1-9]\\d*")), timers + "");
        assertEquals(run.ownCounts().values().stream().sorted().toList(), timers.values().stream().sorted().toList());
    }

    /** The timer counts calls exactly as the program does. */
    private static void assertCounts(Finished run) {
        assertEquals(run.ownCounts(), timerCounts(run));
    }

    /** Lines {@code # timer NAME STARTED ENDED POSITIVE}; nothing may be left running, no time may be missing. */
    private static Map<String, Long> timerCounts(Finished run) {
        Map<String, Long> counts = new TreeMap<>();
        run.stdout().lines().filter(line -> line.startsWith("# ")).forEach(line -> {
            assertTrue(line.matches("# timer .+ (\\d+) \\1 true"), line);
            String[] words = line.substring("# timer ".length()).split(" (?=\\d+ \\d+ true$)");
            counts.put(words[0], Long.parseLong(words[1].split(" ")[0]));
        });
        return counts;
    }

    private static Finished run(Jdk jdk, String template) {
        Path jar = timers();
        String classPath = BuildResult.TARGETS.path() + File.pathSeparator + jar;
        Program program = Program.of(jdk, List.of("-Xverify:all", "-cp", classPath), List.of("targets.Crowd"));
        Finished run = program.withAgent(AgentConfig.of("", "templates = [\"" + jar + "\"]", """
                [[rule]]
                class = "%s"
                method = ["tryToDescend", "descend"]
                template = "%s"
                level = "time"
                """.formatted(WORK, template)).ungoverned());
        String own = run.stdout().lines().filter(line -> !line.startsWith("# ")).map(line -> line + "\n").reduce("", String::concat);
        new Finished(run.exitCode(), own, run.stderr(), run.directory(), run.command()).assertBehavesLike(program.withoutAgent());
        return run;
    }

    private static Path timers() {
        Path classes = RunDirectories.create();
        List<String> arguments = new ArrayList<>(List.of("--release", "8", "-Xlint:-options", "-d", classes.toString(),
                "-cp", BuildResult.JAVA_RUNTIME.path().toString()));
        arguments.addAll(Compilation.sourcesBelow(SOURCES));
        Compilation.javac(arguments);
        return Compilation.jar(classes, RunDirectories.create().resolve("timers.jar"));
    }
}
