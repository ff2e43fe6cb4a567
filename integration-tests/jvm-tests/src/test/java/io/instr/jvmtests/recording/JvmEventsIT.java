package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedMethod;
import org.junit.jupiter.api.Tag;

/** What a recording contains about the JVM besides calls: the state at its beginning, and what changes. */
class JvmEventsIT {

    private static final String RULE = """
            [[rule]]
            class = "targets.ThreadsAndPauses"
            method = "work"
            level = "time"
            """;

    @EachJdk
    void threadsClassesAndPauses(Jdk jdk) {
        for (String collector : List.of("-XX:+UseSerialGC", "-XX:+UseParallelGC")) {
            Finished run = Program.target(jdk, "targets.ThreadsAndPauses", "50", "5")
                    .with(collector)
                    .withAgent(AgentConfig.of("events = [\"threads\", \"gc\", \"classes\"]", "", RULE).ungoverned())
                    .assertExitCode(0);
            assertEquals("", run.stderr());
            Trace trace = run.trace();
            assertEquals(1, trace.events("instr.StartUpDone").size(), "the state at the beginning is complete once");
            assertTrue(names(trace, "instr.LiveThread", JvmEventsIT::thread).containsAll(Set.of("main", "Reference Handler")));
            Set<String> started = IntStream.range(0, 50).mapToObj(number -> "short-" + number).collect(Collectors.toSet());
            assertTrue(names(trace, "jdk.ThreadStart", JvmEventsIT::thread).containsAll(started));
            assertTrue(names(trace, "jdk.ThreadEnd", JvmEventsIT::thread).containsAll(started));
            assertEquals(started, trace.calls().stream().map(Trace.Call::threadName).collect(Collectors.toSet()));
            assertTrue(names(trace, "instr.LoadedClass", event -> type(event, "loadedClass")).contains("java.lang.Object"));
            Set<String> defined = names(trace, "jdk.ClassDefine", event -> type(event, "definedClass"));
            assertTrue(defined.contains("targets.ThreadsAndPauses$Guest") && !defined.contains("java.lang.Object"));
            long collections = Long.parseLong(run.line("collections").trim());
            int pauses = trace.events("jdk.GarbageCollection").size();
            // The parallel collector of some JDKs does two collections, a small and a full one, in one pause.
            boolean isOneEach = collector.equals("-XX:+UseSerialGC");
            assertTrue(isOneEach ? pauses == collections : pauses >= 5 && pauses <= collections, collector + " " + pauses + " of " + collections);
            assertTrue(trace.events("jdk.GarbageCollection").stream().allMatch(pause -> pause.getDuration().toNanos() > 0));
        }
    }

    @EachJdk
    void nothingIfNothingIsAskedFor(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.ThreadsAndPauses", "5", "2")
                .withAgent(AgentConfig.of("events = []", "", RULE).ungoverned())
                .assertExitCode(0);
        Trace trace = run.trace();
        for (String type : List.of("instr.LiveThread", "instr.LoadedClass", "jdk.ThreadStart", "jdk.ThreadEnd", "jdk.GarbageCollection",
                "jdk.ClassDefine")) {
            assertEquals(List.of(), trace.events(type), type);
        }
        assertEquals(1, trace.events("instr.StartUpDone").size());
        assertEquals(5, trace.calls().size());
    }

    /** A thread that has ended is forgotten, by the agent and by the recording. */
    @EachJdk(oldestAndNewest = true)
    void tenThousandsOfShortThreadsUseNoMemoryAfterwards(Jdk jdk) {
        Program program = Program.target(jdk, "targets.ThreadsAndPauses", "20000", "0")
                .with("-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC");
        // A small pool of segments, which is in use as a whole before the first look.
        Finished run = program.withAgent(AgentConfig.of("buffer-mb = 4", "", RULE).ungoverned()).assertExitCode(0);
        Trace trace = run.trace();
        // Each thread takes a segment, so a drainer that is late finds some that got none.
        assertEquals(20_000, trace.count("targets.ThreadsAndPauses.work") + run.stats().lost());
        assertTrue(trace.events("jdk.ThreadEnd").size() >= 20_000);
        long growth = Long.parseLong(run.line("growth-kb").trim());
        // In a quarter there are 5,000 threads; two kilobytes of each would show.
        assertTrue(growth < 10 << 10, "grown by KiB: " + growth);
    }

    @EachJdk(having = "jcmd")
    void attachedToARunningJvm(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        AgentConfig config = AgentConfig.of("events = [\"threads\", \"classes\"]", "", RULE).ungoverned();
        String threads;
        try (Dialog program = Program.target(jdk, "targets.Conversation")
                .with("-XX:+EnableDynamicAgentLoading")
                .talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            Attachment.attach(jdk, program, Attachment.prepare(directory, "attached", config));
            threads = program.ask("threads");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = Attachment.leftBehind(directory, "attached").trace();
        assertEquals(threads, "threads " + trace.events("instr.LiveThread").size());
        assertEquals(1, trace.events("instr.StartUpDone").size());
        Set<String> loaded = names(trace, "instr.LoadedClass", event -> type(event, "loadedClass"));
        assertTrue(loaded.size() > 300 && loaded.containsAll(Set.of("java.lang.Object", "targets.Conversation")), "" + loaded.size());
    }

    /** Classes go with their loader, after the collector has seen that nobody holds it. */
    @EachJdk
    void classesOfADroppedLoaderAreUnloaded(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = recorded(jdk, "events = [\"classes\"]", directory)) {
            program.ask("loaders 20");
            program.ask("resident");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = Finished.in(directory).trace();
        String guest = "targets.Recorded$Guest";
        List<RecordedEvent> defined = of(trace, "jdk.ClassDefine", "definedClass", guest);
        List<RecordedEvent> unloaded = of(trace, "jdk.ClassUnload", "unloadedClass", guest);
        Set<Long> loaders = defined.stream().map(event -> event.getLong("loader")).collect(Collectors.toSet());
        assertEquals(20, loaders.size(), "each loader has a number of its own");
        Set<Long> gone = unloaded.stream().map(event -> event.getLong("loader")).collect(Collectors.toSet());
        // The JVM may keep one or another a little longer.
        assertTrue(gone.size() >= 18 && gone.size() == unloaded.size() && loaders.containsAll(gone), gone + " of " + loaders);
        RecordedEvent first = unloaded.get(0);
        assertTrue(defined.stream().anyMatch(event -> event.getLong("loader") == first.getLong("loader")
                && event.getStartTime().isBefore(first.getStartTime())));
        assertEquals(0, of(trace, "jdk.ClassUnload", "unloadedClass", "targets.Recorded").size());
    }

    /** As many as reflection shows, and the class initialiser, which it does not. */
    @EachJdk
    void theMethodsOfLoadedClassesAreRecorded(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = recorded(jdk, "events = [\"methods\"]", directory)) {
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = Finished.in(directory).trace();
        List<RecordedMethod> methods = trace.events("instr.LoadedMethod").stream()
                .map(event -> event.<RecordedMethod>getValue("method"))
                .toList();
        Set<String> names = methods.stream()
                .filter(method -> method.getType().getName().equals("java.lang.Integer"))
                .map(method -> method.getName() + method.getDescriptor())
                .collect(Collectors.toSet());
        assertTrue(names.containsAll(Set.of("valueOf(I)Ljava/lang/Integer;", "<init>(I)V", "<clinit>()V")), names + "");
        long classes = methods.stream().map(method -> method.getType().getName()).distinct().count();
        assertTrue(classes > 200 && methods.size() > 10 * classes, methods.size() + " methods of " + classes + " classes");
        assertEquals(1, trace.events("instr.StartUpDone").size());
    }

    /** A run that recorded the compilation of its own methods: the JVM reports those by a thread that may be late, and that the end stops. */
    private static Trace compiled(Jdk jdk) {
        return Awaiting.await(() -> worked(jdk), trace -> ours(trace).size() >= 2);
    }

    private static Trace worked(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        // Compiled while the program waits for it, however slow the compiler's threads are.
        try (Dialog program = recorded(jdk, "events = [\"jit\"]", directory, "-Xbatch")) {
            for (int turn = 0; turn < 20; turn++) {
                program.ask("work 100000");
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        return Finished.in(directory).trace();
    }

    /** The compilations of {@code work} and {@code step}, which are hot. */
    private static List<RecordedEvent> ours(Trace trace) {
        return trace.events("instr.CompiledCode").stream()
                .filter(event -> event.<RecordedMethod>getValue("method").getType().getName().equals("targets.Recorded"))
                .toList();
    }

    @EachJdk
    void compiledMethodsHaveAddresses(Jdk jdk) {
        Trace trace = compiled(jdk);
        List<RecordedEvent> compiled = trace.events("instr.CompiledCode");
        assertTrue(compiled.stream().allMatch(event -> event.getLong("address") > 4096 && event.getLong("length") > 0));
        assertTrue(trace.events("instr.GeneratedCode").stream().anyMatch(event -> event.getString("name").contains("nterpreter")));
        List<RecordedEvent> libraries = trace.events("instr.NativeLibrary");
        assertEquals(1, libraries.stream().filter(event -> event.getString("name").endsWith("/libjvm.so")).count(), libraries::toString);
        // Not every JDK is built with ids; every C library is.
        assertTrue(libraries.stream().anyMatch(event -> event.getString("name").contains("/libc.so")
                && event.getString("buildId").matches("[0-9a-f]{16,}")), libraries::toString);
        // The first tier's code goes when the second has come.
        Set<Long> addresses = compiled.stream().map(event -> event.getLong("address")).collect(Collectors.toSet());
        assertTrue(trace.events("instr.CompiledCodeUnload").stream().allMatch(event -> addresses.contains(event.getLong("address"))));
    }

    private static Dialog recorded(Jdk jdk, String traceLines, Path directory, String... options) {
        String rule = "[[rule]]\nclass = \"targets.Recorded*\"\nlevel = \"time\"\n";
        AgentConfig config = AgentConfig.of(traceLines, "", rule).ungoverned();
        return Program.target(jdk, "targets.Recorded").with(options).talkWithAgent(config, directory);
    }

    private static List<RecordedEvent> of(Trace trace, String type, String field, String name) {
        return trace.events(type).stream().filter(event -> type(event, field).equals(name)).toList();
    }

    /** The agent keeps no memory for an unloaded class loader and for its classes with their probes. */
    @EachJdk
    void unloadedLoadersUseNoMemoryAfterwards(Jdk jdk) throws IOException {
        loadersUseNoMemoryAfterwards(jdk, 500);
    }

    @EachJdk
    @Tag("soak")
    void tenThousandLoadersUseNoMemoryAfterwards(Jdk jdk) throws IOException {
        loadersUseNoMemoryAfterwards(jdk, 2_000);
    }

    private static void loadersUseNoMemoryAfterwards(Jdk jdk, int eachTurn) throws IOException {
        Path directory = RunDirectories.create();
        long growth = Long.MAX_VALUE;
        String loaders = "loaders " + eachTurn;
        try (Dialog program = recorded(jdk, "events = [\"threads\", \"classes\", \"jit\"]", directory)) {
            program.ask(loaders);
            program.ask(loaders);
            long before = Long.parseLong(program.ask("resident"));
            // What leaks, leaks each time; what a busy machine adds, it adds now and then.
            for (int turn = 0; turn < 3; turn++) {
                program.ask(loaders);
                long now = Long.parseLong(program.ask("resident"));
                growth = Math.min(growth, now - before);
                before = now;
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = Finished.in(directory).trace();
        assertEquals(5 * eachTurn, trace.count("targets.Recorded$Guest.run"));
        assertTrue(of(trace, "jdk.ClassUnload", "unloadedClass", "targets.Recorded$Guest").size() > 4 * eachTurn);
        // Four kilobytes of each of 2,000 loaders would show, and sixteen of each of 500. A class takes the JVM more than that.
        assertTrue(growth < 8 << 10, "grown by KiB: " + growth);
    }

    @EachJdk(having = "jfr")
    void theToolsOfTheJdkReadThem(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.ThreadsAndPauses", "3", "2")
                .withAgent(AgentConfig.of("events = [\"threads\", \"gc\", \"classes\", \"methods\", \"jit\"]", "", RULE).ungoverned())
                .assertExitCode(0);
        String file = run.directory().resolve("trace.jfr").toString();
        Finished summary = Tool.run(jdk, "jfr", List.of("summary", file)).assertExitCode(0);
        assertTrue(summary.stdout().contains("jdk.GarbageCollection") && summary.stdout().contains("instr.LoadedClass"), summary.stdout());
        assertEquals("", Tool.run(jdk, "jfr", List.of("print", file)).assertExitCode(0).stderr(), "every event can be printed");
        Finished print = Tool.run(jdk, "jfr", List.of("print", "--events", "jdk.ThreadStart,jdk.ClassDefine", file)).assertExitCode(0);
        assertTrue(print.stdout().contains("short-2") && print.stdout().contains("targets.ThreadsAndPauses"), print.stdout());
    }

    private static Set<String> names(Trace trace, String type, Function<RecordedEvent, String> name) {
        return trace.events(type).stream().map(name).collect(Collectors.toCollection(TreeSet::new));
    }

    private static String thread(RecordedEvent event) {
        return Trace.nameOf(event.getThread("thread"));
    }

    private static String type(RecordedEvent event, String field) {
        RecordedClass type = event.getValue(field);
        return type.getName();
    }
}
