package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Stats;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Several JVMs with one configuration: each file has one writer, and none is lost. */
class SharedFileNamesIT {

    private static final String STEP = "targets.Recorded.step";
    private static final AgentConfig CONFIG = AgentConfig.of("""
            [[rule]]
            class = "targets.Recorded"
            method = "step"
            level = "time"
            """).ungoverned();

    @EachJdk(having = "jfr", oldestAndNewest = true)
    void aChildWithTheSameOptionsHasFilesOfItsOwn(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        String agent = Program.agentOption(CONFIG.writeTo(directory).getFileName().toString());
        try (Dialog program = Program.target(jdk, "targets.Recorded")
                .startedBy(List.of("env", "JAVA_TOOL_OPTIONS=" + agent))
                .talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            program.ask("work 1000");
            assertEquals("child 0", program.ask("child 500"));
            program.ask("work 2000");
            program.send("quit");
            String stderr = program.finish().assertExitCode(0).stderr();
            assertTrue(stderr.contains("trace.jfr is being written by another process, so this recording is written to trace-"), stderr);
            assertTrue(stderr.contains("stats.json was there already, it is kept as stats-1.json"), stderr);
        }
        Set<String> files = files(directory, "trace");
        assertEquals(2, files.size(), files.toString());
        assertEquals(3000, wholeCalls(jdk, directory.resolve("trace.jfr")));
        files.remove("trace.jfr");
        String ofChild = files.iterator().next();
        assertEquals(500, wholeCalls(jdk, directory.resolve(ofChild)));
        assertEquals(3000, Stats.read(directory.resolve("stats.json")).figure("records"));
        assertEquals(500, Stats.read(directory.resolve("stats-1.json")).figure("records"));
        assertTrue(Files.readString(directory.resolve("stats-1.json")).contains("\"" + ofChild + "\""));
    }

    @EachJdk(oldestAndNewest = true)
    void theRecordingOfAKilledProcessIsKept(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        String agent = Program.agentOption(CONFIG.writeTo(directory).getFileName().toString());
        Program recorded = Program.target(jdk, "targets.Recorded");
        try (Dialog killed = recorded.talk(List.of(agent), directory)) {
            assertEquals("ready", killed.next());
            killed.ask("work 1000");
            ControlSocket.awaitCalls(killed, 1000);
        }
        try (Dialog program = recorded.talk(List.of(agent), directory)) {
            assertEquals("ready", program.next());
            program.ask("work 70");
            program.send("quit");
            String stderr = program.finish().assertExitCode(0).stderr();
            assertTrue(stderr.contains("trace.jfr holds an earlier recording, which is kept as trace-1.jfr"), stderr);
        }
        assertEquals(70, Trace.read(directory.resolve("trace.jfr")).count(STEP));
        long earlier = Trace.read(directory.resolve("trace-1.jfr")).count(STEP);
        assertTrue(earlier <= 1000, "what was written before the kill: " + earlier);
        assertEquals(Set.of("trace.jfr", "trace-1.jfr"), files(directory, "trace"));
    }

    @EachJdk(oldestAndNewest = true)
    void namesHaveProcessTimeAndHost(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        String text = CONFIG.text()
                .replace("trace.jfr", "trace-%p-%t-%h-%%.jfr")
                .replace("stats.json", "stats-%p.json\"\ndump = \"classes-%p");
        String agent = Program.agentOption(AgentConfig.verbatim(text).writeTo(directory).getFileName().toString());
        try (Dialog program = Program.target(jdk, "targets.Recorded").talk(List.of(agent), directory)) {
            assertEquals("ready", program.next());
            program.ask("work 5");
            program.send("quit");
            program.finish().assertExitCode(0);
            String trace = files(directory, "trace").iterator().next();
            assertTrue(trace.matches("trace-" + program.pid() + "-\\d{8}T\\d{6}Z-[^%]+-%\\.jfr"), trace);
            assertEquals(5, Trace.read(directory.resolve(trace)).count(STEP));
            assertEquals(5, Stats.read(directory.resolve("stats-" + program.pid() + ".json")).figure("records"));
            assertTrue(Files.exists(directory.resolve("classes-" + program.pid() + "/targets/Recorded.class")));
        }
    }

    /** The calls of a recording that our reader and the JDK's tool find whole. */
    private static long wholeCalls(Jdk jdk, Path file) {
        Finished summary = Tool.run(jdk, "jfr", List.of("summary", file.toString())).assertExitCode(0);
        String line = summary.stdout().lines().filter(text -> text.contains("instr.MethodCall")).findFirst().orElseThrow();
        long calls = Trace.read(file).count(STEP);
        assertEquals(calls, Long.parseLong(line.trim().split("\\s+")[1]), line);
        Finished report = Tool.instr(List.of("report", file.toString())).assertExitCode(0);
        assertTrue(report.stdout().contains("targets.Recorded.step"), report.stdout());
        assertEquals("", report.stderr());
        return calls;
    }

    private static Set<String> files(Path directory, String beginning) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> name.startsWith(beginning))
                    .collect(Collectors.toSet());
        }
    }
}
