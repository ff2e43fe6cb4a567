package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
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
    /** Probes that stay at the level of their rule: nobody governs them. */
    private static final String FIXED = "[governor]\nenabled = false\n";

    @EachJdk
    void theProbesOfTheJarRecordEveryCallOnceWhereARuleTakesTheirMethod(Jdk jdk) {
        AgentConfig same = AgentConfig.timed(WORK, "targets.Hello").ungoverned();
        Program program = instrumented(jdk, FIXED + rule("time"), "targets.Exactness");

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
                """).ungoverned());
        fewer.assertExitCode(0);
        counts = new TreeMap<>(fewer.trace().counts());
        assertEquals(4, counts.remove("targets.Exactness$Worker.run"), "instrumented by the agent");
        assertEquals(Set.of(WORK + ".leaf", WORK + ".recurse"), counts.keySet(), "what no rule takes is silent");
        counts.forEach((method, calls) -> assertEquals(fewer.ownCounts().get(method), calls, method));
        assertEquals(0, fewer.stats().figure("malformed_segments"));

        Finished none = program.withAgent(AgentConfig.timed("targets.Exactness$Worker").ungoverned());
        none.assertExitCode(0);
        assertEquals(Set.of("targets.Exactness$Worker.run", "targets.Exactness$Worker.<init>"), none.trace().counts().keySet(),
                "the agent does not even look at the class, and its probes take no number of another one");
    }

    /** Live probes read a level by their number: a number of another process would be somebody else's. This agent has none of its own. */
    @EachJdk(oldestAndNewest = true)
    void liveProbesOfTheJarFollowTheLevelOfTheAgentsRule(Jdk jdk) {
        Program program = instrumented(jdk, rule("time"), "targets.Exactness");
        Finished run = program.withAgent(AgentConfig.of("""
                [[rule]]
                class = "targets.Exactness$Work"
                method = ["leaf", "mayThrow", "unit"]
                level = "time"
                """).ungoverned());
        run.assertExitCode(0);
        Map<String, Long> counts = run.trace().counts();
        assertEquals(Set.of(WORK + ".leaf", WORK + ".mayThrow", WORK + ".unit"), counts.keySet());
        counts.forEach((method, calls) -> assertEquals(run.ownCounts().get(method), calls, method));
    }

    @EachJdk(oldestAndNewest = true)
    void whatTheJarHasNoProbeForIsRefusedWithTheReason(Jdk jdk) {
        Program program = instrumented(jdk, FIXED + rule("time") + "method = [\"leaf\"]\n", "targets.Exactness");
        Finished run = program.withAgent(AgentConfig.timed(WORK).ungoverned());
        run.assertExitCode(0);
        assertEquals(Map.of(WORK + ".leaf", run.ownCounts().get(WORK + ".leaf")), run.trace().counts());
        assertEquals(Map.of("instrumented-ahead", 4L), run.stats().refused());
        String reasons = run.stats().json().get("refused_methods").toString();
        assertTrue(reasons.contains("`instr pre` inserted no probe here"), reasons);
    }

    /** The class was loaded as it is in the jar, so a JVM that an agent is attached to writes it out again from its own data. */
    @EachJdk(having = "jcmd", oldestAndNewest = true)
    void anAttachedAgentFindsTheProbesOfALoadedClassAndADetachSilencesThem(Jdk jdk) {
        String step = "targets.Conversation.step";
        Program program = instrumented(jdk, "[[rule]]\nclass = \"targets.Conversation\"\nlevel = \"time\"\n", "targets.Conversation");
        Path directory = RunDirectories.create();
        AgentConfig other = AgentConfig.of("[[rule]]\nclass = \"targets.none.Else\"\n");
        AgentConfig same = AgentConfig.of(FIXED + "[control]\nlive = true\n[[rule]]\nclass = \"targets.Conversation\"\nlevel = \"time\"\n");
        List<String> agent = List.of(Program.agentOption(Attachment.prepare(directory, "start", other).toString()));
        try (Dialog dialog = program.with("-XX:+EnableDynamicAgentLoading", "-Xverify:all").talk(agent, directory)) {
            assertEquals("ready", dialog.next());
            dialog.ask("work 100");
            Attachment.detach(jdk, dialog);
            dialog.ask("work 200");
            Attachment.attach(jdk, dialog, Attachment.prepare(directory, "first", same));
            dialog.ask("work 400");
            ControlSocket.level(dialog, step, "off");
            dialog.ask("work 800");
            ControlSocket.level(dialog, step, "time");
            dialog.ask("work 7");
            Attachment.detach(jdk, dialog);
            dialog.ask("work 1600");
            Attachment.attach(jdk, dialog, Attachment.prepare(directory, "second", same));
            dialog.ask("work 11");
            dialog.send("quit");
            dialog.finish().assertExitCode(0);
        }
        assertEquals(Map.of(), Attachment.leftBehind(directory, "start").trace().counts());
        Finished first = Attachment.leftBehind(directory, "first");
        assertEquals(407, first.trace().count(step));
        assertEquals(1, first.stats().figure("classes_instrumented_ahead"));
        assertEquals(0, first.stats().figure("classes_rewritten"));
        assertEquals(11, Attachment.leftBehind(directory, "second").trace().count(step));
    }

    /** The agent defines its own runtime before the jar's is asked for. */
    @EachJdk(oldestAndNewest = true)
    void withTheRuntimesJarTheProgramRunsWithoutTheAgentAndWithIt(Jdk jdk) {
        Finished original = Program.target(jdk, "targets.Exactness").withoutAgent();
        for (String rules : List.of(rule("time"), FIXED + rule("watch"), FIXED + rule("full"))) {
            Program program = instrumented(jdk, rules, "targets.Exactness").with("-Xverify:all", "-XX:-PrintWarnings");
            Path directory = RunDirectories.create();
            Finished bare = program.start(List.of(), directory).finish();
            assertTrue(bare.exitCode() != 0 && bare.stderr().contains("java/instr/"), "the test needs probes: " + bare.stderr());

            Path runtime = Path.of(bare.command().get(bare.command().indexOf("-cp") + 1)).resolveSibling("instr-runtime.jar");
            Program complete = program.with("-Xbootclasspath/a:" + runtime);
            complete.start(List.of(), RunDirectories.create()).finish().assertBehavesLike(original);
            if (rules.contains("time")) {
                Finished recorded = complete.withAgent(AgentConfig.timed(WORK).ungoverned());
                recorded.assertExitCode(0);
                assertEquals(1_000_004, recorded.trace().calls().size());
            }
        }
    }

    private static String rule(String level) {
        return "[[rule]]\nclass = \"" + WORK + "\"\nlevel = \"" + level + "\"\nconstructors = true\n";
    }

    private static Program instrumented(Jdk jdk, String rules, String mainClass) {
        Path directory = RunDirectories.create();
        Path config = AgentConfig.verbatim("[filter]\nleaf = false\nmax-bytes = 0\n" + rules).writeTo(directory);
        Path jar = BuildResult.TARGETS_JAR.path();
        Tool.instr(List.of("pre", "--with-runtime", "--config", config.toString(), "--output", directory.resolve("out").toString(), "--java-home",
                jdk.home().toString(), jar.toString())).assertExitCode(0);
        Path copy = directory.resolve("out").resolve(jar.getFileName());
        return Program.of(jdk, List.of("-cp", copy.toString()), List.of(mainClass));
    }
}
