package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import java.util.Map;

/**
 * The whole of java.base instrumented, constructors, class initialisers and bridges too, and verified by the JVM: a tour
 * through the library prints the same, what asks for its caller and what prints stacks included.
 */
class JavaBaseIT {

    /** Share of refused methods: of 50,000 the one or two that return with many operands on the stack. */
    private static final double MOST_REFUSED = 0.000_2;

    @EachJdk
    void timedLibraryShowsNoDifference(Jdk jdk) {
        Finished run = tour(jdk).compare(everything("time"));
        assertThorough(run, 20_000);
        assertTrue(run.stats().figure("records") > 100_000, run.stats() + "");
    }

    /** The probe of level full calls more of the library than that of time, and reads what it counts meanwhile. */
    @EachJdk(oldestAndNewest = true)
    void fullLibraryWithMetricsShowsNoDifference(Jdk jdk) {
        AgentConfig full = everything("full");
        String metrics = "[metrics]\nopenmetrics = \"127.0.0.1:0\"\ninterval = \"50 ms\"\n";
        Finished run = tour(jdk).compare(AgentConfig.verbatim(metrics + full.text()));
        assertThorough(run, 20_000);
        assertTrue(run.stats().figure("records") > 100_000, run.stats() + "");
    }

    /** Receivers, arguments and results of all methods, copied at each call and shown where a tick has passed. */
    @EachJdk(oldestAndNewest = true)
    void libraryWithItsArgumentsShowsNoDifference(Jdk jdk) {
        AgentConfig config = everything("watch");
        Finished run = tour(jdk).compare(AgentConfig.verbatim(config.text() + "arguments = [\"this\", \"all\"]\nresult = true\n"));
        assertThorough(run, 20_000);
        assertTrue(run.trace().events("instr.CallArguments").size() > 100, run.stats() + "");
    }

    @EachJdk
    void everyClassOfTheModuleIsAccepted(Jdk jdk) {
        Finished run = tour(jdk, "link").compare(everything("watch"));
        assertThorough(run, 45_000);
        assertTrue(Long.parseLong(run.line("linked:")) > 6_000, () -> run.line("linked:"));
    }

    /** What the JVM loaded before the agent it then hands over as it keeps it; before JDK 18 without stack map frames. */
    @EachJdk
    void classesThatComeFromNoArchive(Jdk jdk) {
        Program program = Program.target(jdk, "targets.JdkClasses").with("-Xshare:off");
        assertThorough(program.compare(everything("off")), 5_000);
    }

    /** Level off leaves a guard in each method; compiled at once, so that the compiler sees every shape of merged code. */
    @EachJdk(from = 25)
    void compilersTakeIt(Jdk jdk) {
        Finished run = tour(jdk).with("-Xcomp", "-XX:TieredStopAtLevel=1").compare(everything("off"));
        assertThorough(run, 20_000);
    }

    private static void assertThorough(Finished run, int methods) {
        long instrumented = run.stats().methodsInstrumented();
        assertTrue(instrumented > methods, () -> "only " + run.stats());
        Map<String, Long> refused = run.stats().refused();
        long all = refused.values().stream().mapToLong(Long::longValue).sum();
        assertTrue(all < MOST_REFUSED * instrumented, () -> "refused " + refused + " of " + instrumented);
    }

    private static Program tour(Jdk jdk, String... arguments) {
        return Program.target(jdk, "targets.library.LibraryTour", arguments)
                .with("-Xverify:all", "-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal", "-Duser.language=en");
    }

    private static AgentConfig everything(String level) {
        AgentConfig config = AgentConfig.of("max-file-mb = 16", "", """
                [[rule]]
                class = ["java.**", "jdk.internal.**", "sun.**"]
                template = "timed"
                level = "%s"
                constructors = true
                class-initialisers = true
                bridges = true
                """.formatted(level));
        return level.equals("time") || level.equals("full") ? config.ungoverned() : config;
    }
}
