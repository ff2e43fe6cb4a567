package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Stats;
import io.instr.jvmtests.jvm.Trace;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.Attributes;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;

/** {@code mode = "wrapper"}: methods are renamed and called by new ones of their names, and stay so for the life of the class. */
class WrapperModeIT {

    private static final String ALL = "targets.features.AllFeatures";
    private static final String WORK = "targets.Exactness$Work";
    private static final String DIRECT = "frames where where main";
    private static final String THROUGH_WRAPPERS = "frames _where$instr where _where$instr where main";
    private static final String METHODS = "methods _step$instr(synthetic) _where$instr(synthetic) step where";

    /** Methods get wrappers; constructors, which cannot have any, take the template in. */
    private static final AgentConfig FEATURES = AgentConfig.of("""
            [[rule]]
            class = "targets.features.**"
            level = "time"
            mode = "wrapper"

            [[rule]]
            class = "targets.features.**"
            level = "time"
            constructors = true
            """).ungoverned();

    @EachJdk
    void everyConstructKeepsItsMeaningAndIsCounted(Jdk jdk) {
        Finished run = Program.target(jdk, ALL).with("-Xverify:all").compare(FEATURES);
        assertCounted(run);
        assertEquals(Map.of("caller-sensitive", 1L), run.stats().refused(), "one method looks at its own stack trace");
        assertTrue(run.stats().figure("methods_wrapped") > 100, run.stats() + "");
    }

    @EachJdk(from = 17)
    void recordsAndSealedClasses(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.features.ModernFeatures").with("-Xverify:all").compare(FEATURES);
        assertCounted(run);
        assertEquals(Map.of(), run.stats().refused(), "refused methods");
        assertTrue(run.trace().count("targets.features.ModernFeatures$Range.hashCode") >= 2, "methods that the compiler made");
    }

    @EachJdk
    void compiledOnly(Jdk jdk) {
        Finished plain = Program.target(jdk, ALL).withoutAgent();
        assertCounted(Program.target(jdk, ALL).compiledAtOnce().withAgent(FEATURES).assertBehavesLike(plain));
    }

    @EachJdk
    void everyCallIsOneEvent(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Exactness").compare(AgentConfig.of("""
                [[rule]]
                class = "%s"
                level = "time"
                mode = "wrapper"
                """.formatted(WORK)).ungoverned());
        assertEquals(0, run.stats().lost());
        assertEquals(4, run.stats().figure("methods_wrapped"));
        assertEquals(run.ownCounts(), run.trace().counts(), "under the names that the methods had");
    }

    @EachJdk
    void classesOfTheJdkThatComeLate(Jdk jdk) {
        AgentConfig config = AgentConfig.of("""
                [[rule]]
                class = ["java.util.**", "java.text.**", "java.io.**"]
                level = "time"
                mode = "wrapper"
                """).ungoverned();
        Finished run = Program.target(jdk, ALL).with("-Xverify:all").compare(config);
        assertTrue(run.stats().figure("methods_wrapped") > 100, run.stats() + "");
        assertTrue(run.stats().refused().get("loaded-before") > 100, "those that were loaded before the agent");
        assertEquals(0, run.stats().figure("classes_retransformed"), "they cannot get a wrapper, so they are not retransformed");
    }

    @EachJdk
    void whatCannotBeWrappedIsCountedByReason(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path config = Attachment.prepare(directory, "run", AgentConfig.of("""
                [[rule]]
                class = "targets.Wrappers$*"
                level = "time"
                mode = "wrapper"
                constructors = true
                class-initialisers = true
                """).ungoverned());
        try (Dialog program = conversation(jdk, List.of(Program.agentOption(config.toString())), List.of(), directory)) {
            assertEquals("late _answer$instr answer main", program.ask("late"));
            quit(program);
        }
        Map<String, Long> expected = Map.of("constructor", 3L, "class-initialiser", 1L, "caller-sensitive", 1L);
        assertEquals(expected, stats(directory, "run").refused());
    }

    /** Detached, attached again and retransformed by somebody else: the JVM must never be asked to drop a method. */
    @EachJdk(having = "jcmd")
    void wrappersOutliveTheSession(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path first = Attachment.prepare(directory, "first", wrapper("targets.Wrappers$*"));
        List<String> other = List.of("-javaagent:" + retransformer(directory));
        try (Dialog program = conversation(jdk, List.of(Program.agentOption(first.toString())), other, directory)) {
            assertEquals("sum 3001", program.ask("work 1000"));
            assertEquals(THROUGH_WRAPPERS, program.ask("frames"));
            assertEquals(METHODS, program.ask("methods"));
            assertEquals("retransform done", program.ask("retransform"));
            assertEquals("sum 297", program.ask("work 100"), "probes are back after somebody else's retransform");

            Attachment.detach(jdk, program);
            assertEquals(THROUGH_WRAPPERS, program.ask("frames"), "the wrappers pass the calls on");
            program.ask("work 500");
            assertEquals("retransform done", program.ask("retransform"));
            assertEquals(METHODS, program.ask("methods"));
            assertEquals(THROUGH_WRAPPERS, program.ask("frames"));

            Attachment.attach(jdk, program, Attachment.prepare(directory, "second", AgentConfig.timed("targets.Wrappers$Base").ungoverned()));
            program.ask("work 30");
            assertEquals("retransform done", program.ask("retransform"));
            program.ask("work 3");
            Attachment.detach(jdk, program);
            assertEquals("retransform done", program.ask("retransform"));
            assertEquals(THROUGH_WRAPPERS, program.ask("frames"));
            quit(program);
        }
        Trace trace = trace(directory, "first");
        assertEquals(1100, trace.count("targets.Wrappers$Base.step"));
        assertEquals(1100, trace.count("targets.Wrappers$Derived.step"));
        assertEquals(Map.of(), stats(directory, "first").refused());
        assertEquals(33, trace(directory, "second").count("targets.Wrappers$Base.step"), "through the wrapper, whatever the rule says");
        assertEquals(0, trace(directory, "second").count("targets.Wrappers$Derived.step"), "no rule wants it any more");
        assertEquals(Map.of(), stats(directory, "second").refused());
    }

    @EachJdk(having = "jcmd")
    void classesThatAreLoadedAreRefusedAndTheOthersWrapped(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, List.of(), List.of(), directory)) {
            program.ask("work 100");
            Attachment.attach(jdk, program, Attachment.prepare(directory, "attached", wrapper("targets.Wrappers$*")));
            assertEquals(DIRECT, program.ask("frames"), "its class cannot get another method");
            assertEquals("methods step where", program.ask("methods"));
            assertEquals("late _answer$instr answer main", program.ask("late"), "loaded after the agent");
            Attachment.detach(jdk, program);
            assertEquals("late _answer$instr answer main", program.ask("late"));
            quit(program);
        }
        assertEquals(Map.of("loaded-before", 4L, "caller-sensitive", 1L), stats(directory, "attached").refused());
        assertEquals(1, trace(directory, "attached").count("targets.Wrappers$Late.answer"));
    }

    @EachJdk
    void nothingIsKeptIfRewrittenClassesAreThrownAway(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        AgentConfig discarding = wrapper("discard = true", "targets.Wrappers$*");
        List<String> other = List.of("-javaagent:" + retransformer(directory));
        Path config = Attachment.prepare(directory, "run", discarding);
        try (Dialog program = conversation(jdk, List.of(Program.agentOption(config.toString())), other, directory)) {
            assertEquals(DIRECT, program.ask("frames"));
            assertEquals("retransform done", program.ask("retransform"));
            quit(program);
        }
    }

    @EachJdk
    void classesOfLoadersThatAreGoneAreForgotten(Jdk jdk) {
        int deployments = 400;
        Finished run = Program.target(jdk, "targets.Redeployment", deployments + "").compare(wrapper("targets.Redeployment$Application"));
        assertEquals(deployments, run.trace().count("targets.Redeployment$Application.getAsInt"));
        assertTrue(run.stats().figure("wrapped_classes") <= deployments / 4, run.stats() + "");
    }

    /** In inline mode a method of almost 8,000 bytes gets a wrapper while its class is loaded, and keeps it like any other. */
    @EachJdk
    void aWrapperInPlaceOfAHugeBodyIsKeptAsWell(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path source = Files.writeString(directory.resolve("Big.java"), """
                public class Big {
                    static int huge(int x) {
                        %s
                        return x;
                    }
                    static void show() {
                        System.out.println("huge " + huge(3));
                    }
                    public static void main(String[] arguments) {
                        show();
                        System.out.println("retransform " + targets.Retransformer.again(Big.class));
                        show();
                    }
                }
                """.formatted("x = x * 31 + 7;\n".repeat(999)));
        Compilation.javac(List.of("--release", "11", "-cp", BuildResult.TARGETS.path().toString(), "-d", directory.toString(), source.toString()));
        String classPath = directory + File.pathSeparator + BuildResult.TARGETS.path();
        Program program =
                Program.of(jdk, List.of("-cp", classPath, "-javaagent:" + retransformer(directory), "-Xverify:all"), List.of("Big"));
        Finished run = program.compare(AgentConfig.timed("Big").ungoverned());
        assertTrue(run.stdout().contains("retransform done"), run.stdout());
        assertEquals(2, run.trace().count("Big.huge"));
        assertEquals(2, run.trace().count("Big.show"));
        assertEquals(Map.of(), run.stats().refused());
    }

    private static AgentConfig wrapper(String classes) {
        return wrapper("", classes);
    }

    private static AgentConfig wrapper(String agentLines, String classes) {
        return AgentConfig.of("", agentLines, """
                [[rule]]
                class = "%s"
                level = "time"
                mode = "wrapper"
                """.formatted(classes)).ungoverned();
    }

    private static Dialog conversation(Jdk jdk, List<String> agent, List<String> options, Path directory) {
        Dialog program = Program.target(jdk, "targets.Wrappers")
                .with("-XX:+EnableDynamicAgentLoading", "-Xverify:all")
                .with(options.toArray(String[]::new))
                .talk(agent, directory);
        assertEquals("ready", program.next());
        return program;
    }

    /** The jar of another agent: its class is one of the program's own. */
    private static Path retransformer(Path directory) throws IOException {
        Manifest manifest = new Manifest();
        Attributes attributes = manifest.getMainAttributes();
        attributes.put(Attributes.Name.MANIFEST_VERSION, "1.0");
        attributes.putValue("Premain-Class", "targets.Retransformer");
        attributes.putValue("Can-Retransform-Classes", "true");
        Path jar = directory.resolve("retransformer.jar");
        new JarOutputStream(Files.newOutputStream(jar), manifest).close();
        return jar;
    }

    private static void quit(Dialog program) {
        program.send("quit");
        Finished run = program.finish().assertExitCode(0);
        assertEquals("", run.stderr());
    }

    private static Trace trace(Path directory, String name) {
        return Attachment.leftBehind(directory, name).trace();
    }

    private static Stats stats(Path directory, String name) {
        return Attachment.leftBehind(directory, name).stats();
    }

    private static void assertCounted(Finished run) {
        assertEquals(0, run.stats().lost());
        Map<String, Long> own = run.ownCounts();
        Map<String, Long> traced = new TreeMap<>(run.trace().counts());
        traced.keySet().retainAll(own.keySet());
        assertEquals(own, traced);
    }
}
