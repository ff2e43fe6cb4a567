package io.instr.jvmtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Programs whose jars {@code instr pre} instrumented, under an agent with the same rules, with others, and with none for their classes. */
class InstrumentedAheadIT {

    private static final String WORK = "targets.Exactness$Work";

    @EachJdk
    void theProbesOfTheJarRecordEveryCallOnceWhereARuleTakesTheirMethod(Jdk jdk) {
        AgentConfig same = AgentConfig.timed(WORK, "targets.Hello");
        Program program = instrumented(jdk, "time", "targets.Exactness");

        Finished run = program.withAgent(same);
        run.assertExitCode(0);
        Map<String, Long> counts = new TreeMap<>(run.trace().counts());
        assertEquals(4, counts.remove(WORK + ".<init>"), "one object for each thread");
        assertEquals(run.ownCounts(), counts);
        assertEquals(1, run.stats().figure("classes_instrumented_ahead"));
        assertEquals(5, run.stats().figure("probes_instrumented_ahead"));
        assertEquals(0, run.stats().figure("classes_rewritten"), "no probe is added");

        Finished fewer = program.withAgent(AgentConfig.of("""
                [[rule]]
                class = "targets.Exactness$W*"
                method = ["leaf", "recurse", "run"]
                level = "time"
                """));
        fewer.assertExitCode(0);
        counts = new TreeMap<>(fewer.trace().counts());
        assertEquals(4, counts.remove("targets.Exactness$Worker.run"), "instrumented by the agent");
        assertEquals(Set.of(WORK + ".leaf", WORK + ".recurse"), counts.keySet(), "what no rule takes is silent");
        counts.forEach((method, calls) -> assertEquals(fewer.ownCounts().get(method), calls, method));
        assertEquals(0, fewer.stats().figure("malformed_segments"));

        Finished none = program.withAgent(AgentConfig.timed("targets.Exactness$Worker"));
        none.assertExitCode(0);
        assertEquals(Set.of("targets.Exactness$Worker.run", "targets.Exactness$Worker.<init>"), none.trace().counts().keySet(),
                "the agent does not even look at the class, and its probes take no number of another one");
    }

    /** Live probes read a level by their number: a number of another process would be somebody else's. */
    @EachJdk(oldestAndNewest = true)
    void liveProbesOfTheJarFollowTheLevelOfTheAgentsRule(Jdk jdk) {
        Program program = instrumented(jdk, "burst", "targets.Exactness");
        Finished run = program.withAgent(AgentConfig.of("""
                [[rule]]
                class = "targets.Exactness$Work"
                method = ["leaf", "mayThrow", "unit"]
                level = "time"
                """));
        run.assertExitCode(0);
        Map<String, Long> counts = run.trace().counts();
        assertEquals(Set.of(WORK + ".leaf", WORK + ".mayThrow", WORK + ".unit"), counts.keySet());
        counts.forEach((method, calls) -> assertEquals(run.ownCounts().get(method), calls, method));
    }

    @EachJdk(oldestAndNewest = true)
    void whatTheJarHasNoProbeForIsRefusedWithTheReason(Jdk jdk) {
        Program program = instrumented(jdk, "time", "targets.Exactness", "method = [\"leaf\"]");
        Finished run = program.withAgent(AgentConfig.timed(WORK));
        run.assertExitCode(0);
        assertEquals(Map.of(WORK + ".leaf", run.ownCounts().get(WORK + ".leaf")), run.trace().counts());
        assertEquals(Map.of("instrumented-ahead", 4L), run.stats().refused());
        String reasons = run.stats().json().get("refused_methods").toString();
        assertTrue(reasons.contains("`instr pre` inserted no probe here"), reasons);
    }

    /** The agent defines its own runtime before the jar's is asked for. */
    @EachJdk(oldestAndNewest = true)
    void withTheRuntimesJarTheProgramRunsWithoutTheAgentAndWithIt(Jdk jdk) {
        Finished original = Program.target(jdk, "targets.Exactness").withoutAgent();
        for (String level : List.of("time", "watch", "full")) {
            Program program = instrumented(jdk, level, "targets.Exactness").with("-Xverify:all", "-XX:-PrintWarnings");
            Path directory = RunDirectories.create();
            Finished bare = program.start(List.of(), directory).finish();
            assertTrue(bare.exitCode() != 0 && bare.stderr().contains("java/instr/"), "the test needs probes: " + bare.stderr());

            Path runtime = Path.of(bare.command().get(bare.command().indexOf("-cp") + 1)).resolveSibling("instr-runtime.jar");
            Program complete = program.with("-Xbootclasspath/a:" + runtime);
            complete.start(List.of(), RunDirectories.create()).finish().assertBehavesLike(original);
            if (level.equals("time")) {
                Finished recorded = complete.withAgent(AgentConfig.timed(WORK));
                recorded.assertExitCode(0);
                assertEquals(1_000_004, recorded.trace().calls().size());
            }
        }
    }

    private static Program instrumented(Jdk jdk, String level, String mainClass, String... further) {
        Path directory = RunDirectories.create();
        String live = level.equals("burst") ? "[control]\nlive = true\n\n" : "";
        String rule = "[[rule]]\nclass = \"" + WORK + "\"\nlevel = \"" + level + "\"\nconstructors = true\n";
        Path config = AgentConfig.of(live + rule + String.join("\n", further)).writeTo(directory);
        Path jar = BuildResult.TARGETS_JAR.path();
        Tool.instr(List.of("pre", "--with-runtime", "--config", config.toString(), "--output", directory.resolve("out").toString(), "--java-home",
                jdk.home().toString(), jar.toString())).assertExitCode(0);
        Path copy = directory.resolve("out").resolve(jar.getFileName());
        return Program.of(jdk, List.of("-cp", copy.toString()), List.of(mainClass));
    }
}
