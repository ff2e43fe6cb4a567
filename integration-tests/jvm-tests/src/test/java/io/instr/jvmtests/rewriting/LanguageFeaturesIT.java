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
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Every construct of the language, instrumented: same results, verified by the JVM, each call counted. */
class LanguageFeaturesIT {

    private static final String ALL = "targets.features.AllFeatures";
    private static final AgentConfig TIMED = AgentConfig.timed("targets.features.**").ungoverned();

    @EachJdk
    void everyConstructKeepsItsMeaningAndIsCounted(Jdk jdk) {
        Finished run = Program.target(jdk, ALL).with("-Xverify:all").compare(TIMED);
        assertCounted(run);
        assertEquals(Map.of(), run.stats().refused(), "refused methods");
    }

    @EachJdk
    void watchAndOffKeepTheMeaningToo(Jdk jdk) {
        for (String level : List.of("watch", "off")) {
            AgentConfig config = AgentConfig.atLevel(level, "targets.features.**");
            Finished run = Program.target(jdk, ALL).with("-Xverify:all").compare(config);
            assertTrue(run.stats().methodsInstrumented() > 150, level + " " + run.stats());
        }
    }

    @EachJdk
    void interpretedOnly(Jdk jdk) {
        assertCountedAndAsEver(jdk, Program.target(jdk, ALL).with("-Xint"));
    }

    @EachJdk
    void compiledOnly(Jdk jdk) {
        assertCountedAndAsEver(jdk, Program.target(jdk, ALL).compiledAtOnce());
    }

    @EachJdk
    void everyCollector(Jdk jdk) {
        List<String> collectors = new ArrayList<>(List.of("-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"));
        if (jdk.feature() >= 17) {
            collectors.add("-XX:+UseZGC");
        }
        for (String collector : collectors) {
            assertCountedAndAsEver(jdk, Program.target(jdk, ALL).with(collector));
        }
    }

    @EachJdk
    void classInitialisersOnRequest(Jdk jdk) {
        AgentConfig config = AgentConfig.of("""
                [[rule]]
                class = "targets.features.Initializers*"
                level = "time"
                class-initialisers = true
                """).ungoverned();
        Finished run = Program.target(jdk, ALL).with("-Xverify:all").compare(config);
        Map<String, Long> counts = run.trace().counts();
        for (String name : List.of("Initializers", "Initializers$Parent", "Initializers$Lazy", "Initializers$Failing")) {
            assertEquals(1, counts.get("targets.features." + name + ".<clinit>"), name);
        }
    }

    @EachJdk(from = 17)
    void recordsSealedClassesAndPatterns(Jdk jdk) {
        Program program = Program.target(jdk, "targets.features.ModernFeatures").with("-Xverify:all");
        Finished run = program.compare(TIMED);
        assertCounted(run);
        assertEquals(Map.of(), run.stats().refused(), "refused methods");
        assertTrue(run.trace().count("targets.features.ModernFeatures$Range.hashCode") >= 2, "methods that the compiler made");
    }

    @EachJdk(from = 25, having = "javac")
    void statementsBeforeSuper(Jdk jdk) {
        Path classes = RunDirectories.create();
        Path source = BuildResult.TARGET_SOURCES.path().resolve("main/java25/targets/FlexibleConstructors.java");
        Compilation.javac(jdk, classes, List.of(source));
        Program program = Program.of(jdk, List.of("-cp", classes.toString(), "-Xverify:all"), List.of("targets.FlexibleConstructors"));
        Finished run = program.compare(AgentConfig.timed("targets.**").ungoverned());
        // n = -1 throws before super(), 3 after it, 0 to 2 end well.
        long derived = run.trace().count("targets.FlexibleConstructors$Derived.<init>");
        assertTrue(derived == 4 || derived == 5, derived + " constructors");
        assertEquals(4, run.trace().count("targets.FlexibleConstructors$Base.<init>"));
    }

    /** Without the agent, options of the JVM change nothing of what the program prints: one such run serves for all. */
    private static void assertCountedAndAsEver(Jdk jdk, Program program) {
        assertCounted(program.withAgent(TIMED).assertBehavesLike(Program.target(jdk, ALL).withoutAgent()));
    }

    private static void assertCounted(Finished run) {
        assertEquals(0, run.stats().lost());
        Map<String, Long> own = run.ownCounts();
        Map<String, Long> traced = new TreeMap<>(run.trace().counts());
        traced.keySet().retainAll(own.keySet());
        assertEquals(own, traced);
    }
}
