package io.instr.jvmtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedThread;

/** What a recording tells about the JVM besides calls: the state at its beginning, and what changes. */
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
                    .withAgent(AgentConfig.of("events = [\"threads\", \"gc\", \"classes\"]", "", RULE))
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
                .withAgent(AgentConfig.of("events = []", "", RULE))
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
    @EachJdk
    void tenThousandsOfShortThreadsLeaveNothingBehind(Jdk jdk) {
        Program program = Program.target(jdk, "targets.ThreadsAndPauses", "20000", "0")
                .with("-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC");
        // A small pool of segments, which is in use as a whole before the first look.
        Finished run = program.withAgent(AgentConfig.of("buffer-mb = 4", "", RULE)).assertExitCode(0);
        Trace trace = run.trace();
        assertEquals(20_000, trace.counts().get("targets.ThreadsAndPauses.work"));
        assertTrue(trace.events("jdk.ThreadEnd").size() >= 20_000);
        long growth = Long.parseLong(run.line("growth-kb").trim());
        // 10,000 threads came after the first look; two kilobytes of each would show.
        assertTrue(growth < 20 << 10, "grown by KiB: " + growth);
    }

    @EachJdk(having = "jcmd")
    void attachedToARunningJvm(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        String text = AgentConfig.of("events = [\"threads\", \"classes\"]", "", RULE).text()
                .replace("\"trace.jfr\"", "\"" + directory.resolve("trace.jfr") + "\"")
                .replace("\"stats.json\"", "\"" + directory.resolve("stats.json") + "\"");
        Path config = Files.writeString(directory.resolve("instr.toml"), text);
        String threads;
        try (Dialog program = Program.target(jdk, "targets.Conversation")
                .with("-XX:+EnableDynamicAgentLoading")
                .talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            List<String> command = List.of(String.valueOf(program.pid()), "JVMTI.agent_load", BuildResult.AGENT.path().toString(),
                    "\"" + config + "\"");
            Tool.run(jdk, "jcmd", command).assertExitCode(0);
            threads = program.ask("threads");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = new Finished(0, "", "", directory, List.of()).trace();
        assertEquals(threads, "threads " + trace.events("instr.LiveThread").size());
        assertEquals(1, trace.events("instr.StartUpDone").size());
        Set<String> loaded = names(trace, "instr.LoadedClass", event -> type(event, "loadedClass"));
        assertTrue(loaded.size() > 300 && loaded.containsAll(Set.of("java.lang.Object", "targets.Conversation")), "" + loaded.size());
    }

    @EachJdk(having = "jfr")
    void theToolsOfTheJdkReadThem(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.ThreadsAndPauses", "3", "2")
                .withAgent(AgentConfig.of("events = [\"threads\", \"gc\", \"classes\"]", "", RULE))
                .assertExitCode(0);
        String file = run.directory().resolve("trace.jfr").toString();
        Finished summary = Tool.run(jdk, "jfr", List.of("summary", file)).assertExitCode(0);
        assertTrue(summary.stdout().contains("jdk.GarbageCollection") && summary.stdout().contains("instr.LoadedClass"), summary.stdout());
        Finished print = Tool.run(jdk, "jfr", List.of("print", "--events", "jdk.ThreadStart,jdk.ClassDefine", file)).assertExitCode(0);
        assertTrue(print.stdout().contains("short-2") && print.stdout().contains("targets.ThreadsAndPauses"), print.stdout());
    }

    private static Set<String> names(Trace trace, String type, Function<RecordedEvent, String> name) {
        return trace.events(type).stream().map(name).collect(Collectors.toCollection(TreeSet::new));
    }

    private static String thread(RecordedEvent event) {
        RecordedThread thread = event.getValue("thread");
        return thread.getJavaName();
    }

    private static String type(RecordedEvent event, String field) {
        RecordedClass type = event.getValue(field);
        return type.getName();
    }
}
