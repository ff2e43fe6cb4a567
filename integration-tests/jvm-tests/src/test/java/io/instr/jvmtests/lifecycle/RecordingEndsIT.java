package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
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
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import jdk.jfr.consumer.RecordedEvent;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

/** How recordings end: by the JVM's end, a full file, a user, and those in memory never, but they are dumped. */
class RecordingEndsIT {

    private static final String RULE = """
            [[rule]]
            class = "targets.Recorded"
            method = ["step", "slow"]
            level = "time"
            """;
    private static final String STEP = "targets.Recorded.step";

    @EachJdk(oldestAndNewest = true)
    void aStoppedRecordingIsWholeWhileTheApplicationGoesOn(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = recorded(jdk, "", directory)) {
            program.ask("work 1000");
            String stopped = ControlSocket.ask(program, "{\"ask\":\"stop\"}");
            assertTrue(stopped.contains("\"records\":1000,\"lost\":0"), stopped);
            program.ask("work 500");
            Trace trace = trace(directory);
            assertEquals(1000, trace.count(STEP));
            assertEquals(List.of("initialisation", "profiling", "end"), phases(trace));
            assertEquals("asked for by a user", reason(trace));
            assertEquals(1, trace.events("instr.RecordingEnd").size());
            assertTrue(ControlSocket.status(program).contains("\"ended\":\"asked for by a user\""), ControlSocket.status(program));
            assertTrue(ControlSocket.ask(program, "{\"ask\":\"stop\"}").contains("has ended already"));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertEquals(1000, trace(directory).count(STEP), "nothing is added afterwards");
        assertEquals(1000, stats(directory).stats().figure("records"));
    }

    @EachJdk(from = 25)
    void afterTheEndTheStatusClaimsNoLevels(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        AgentConfig config = AgentConfig.of(RULE.replace("level = \"time\"", "") + "[control]\nlive = true\n");
        try (Dialog program = Program.target(jdk, "targets.Recorded").talkWithAgent(config, directory)) {
            program.ask("work 1000");
            assertTrue(ControlSocket.status(program).contains("\"live\":[{"), ControlSocket.status(program));
            ControlSocket.ask(program, "{\"ask\":\"stop\"}");
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"live\":[],\"bursts\":null,\"governor\":null"), status);
            assertFalse(status.contains("\"level\":\"watch\""), status);
            String claims = ControlSocket.ask(program, "{\"ask\":\"claims\"}");
            assertTrue(claims.contains("\"state\":\"ended\"") && claims.contains("generation 1; the recording has ended: asked for by a user"), claims);
            for (String request : List.of("{\"ask\":\"level\",\"methods\":\"**\",\"level\":\"time\"}", "{\"ask\":\"resume\"}")) {
                String answer = ControlSocket.ask(program, request);
                assertTrue(answer.contains("the recording has ended, no probe records any more"), answer);
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aFullFileEndsTheRecordingIfThatIsAskedFor(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        AtomicLong calls = new AtomicLong();
        try (Dialog program = recorded(jdk, "max-file-mb = 1\nwhen-full = \"stop\"", directory)) {
            ControlSocket.await(program, status -> {
                program.ask("work 20000");
                calls.addAndGet(20_000);
                return status.contains("\"ended\":\"the trace file is full\"");
            });
            program.send("quit");
            Finished finished = program.finish().assertExitCode(0);
            assertEquals("", finished.ownStderr());
            assertTrue(finished.stderr().contains("trace.jfr is full (max-file-mb = 1 in [trace]): the recording ends"), finished.stderr());
        }
        Trace trace = trace(directory);
        assertEquals("the trace file is full", reason(trace));
        long recorded = stats(directory).stats().figure("records");
        long lost = stats(directory).stats().figure("lost");
        assertEquals(recorded, trace.count(STEP));
        assertTrue(recorded > 30_000 && recorded + lost <= calls.get(), recorded + " + " + lost + " of " + calls);
        assertTrue(Files.size(directory.resolve("trace.jfr")) < 2 << 20);
    }

    @EachJdk(from = 25)
    void aFileThatIsFullOrDeletedIsReportedWhileCallsAreCounted(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = recorded(jdk, "max-file-mb = 1", directory)) {
            ControlSocket.await(program, status -> {
                program.ask("work 20000");
                return status.contains("\"trace_file_trouble\":\"is full since second ");
            });
            Path file = directory.resolve("trace.jfr");
            Path kept = Files.move(file, directory.resolve("kept.jfr"));
            ControlSocket.await(program, status -> status.contains("\"trace_file_trouble\":\"was deleted or renamed"));
            Files.move(kept, file);
            program.send("quit");
            Finished finished = program.finish().assertExitCode(0);
            assertEquals("", finished.ownStderr());
            String line = "trace.jfr is full (max-file-mb = 1 in [trace]): later calls are counted as lost";
            assertEquals(1, finished.stderr().lines().filter(text -> text.endsWith(line)).count(), finished.stderr());
        }
        Trace trace = trace(directory);
        long lost = trace.events("instr.Loss").stream().mapToLong(event -> event.getLong("lost")).sum();
        assertEquals(stats(directory).stats().figure("lost"), lost, "one figure everywhere");
        assertTrue(trace.events("instr.Note").stream().anyMatch(note -> note.getString("kind").equals("file-full")));
    }

    @EachJdk
    void theEndOfTheJvmEndsIt(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = recorded(jdk, "", directory)) {
            program.ask("work 10");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        assertEquals("the JVM ends", reason(trace));
        assertEquals(List.of("initialisation", "profiling", "end"), phases(trace));
    }

    @EachJdk(oldestAndNewest = true)
    void aRingIsDumpedWheneverSomebodyAsks(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = recorded(jdk, "mode = \"ring\"\nevents = [\"threads\", \"classes\"]", directory)) {
            program.ask("work 1000");
            String answer = ControlSocket.ask(program, "{\"ask\":\"dump-trace\"}");
            // The agent waits four seconds for the file and no longer.
            assertTrue(answer.contains("asked for by a user") || answer.contains("is not written yet"), answer);
            Awaiting.await(() -> dumps(directory, "asked"), dumps -> dumps.size() == 1);
            program.ask("work 500");
            ControlSocket.ask(program, "{\"ask\":\"dump-trace\"}");
            assertTrue(ControlSocket.status(program).contains("\"ring\":true"));
            program.send("quit");
            assertEquals("", program.finish().assertExitCode(0).stderr());
        }
        List<Path> dumps = dumps(directory, "asked");
        assertEquals(2, dumps.size(), dumps + "");
        assertEquals(List.of(1000L, 1500L), counts(dumps));
        assertFalse(Files.exists(directory.resolve("trace.jfr")));
        for (Path dump : dumps) {
            Trace trace = Trace.read(dump);
            assertEquals(1, trace.events("instr.StartUpDone").size());
            assertTrue(trace.events("instr.LiveThread").size() > 3 && trace.events("instr.LoadedClass").size() > 300);
            assertEquals(1, trace.events("jdk.JVMInformation").size());
            assertEquals("main", trace.callsOf(STEP).get(0).threadName());
            assertTrue(JfrLoaderToolkit.loadEvents(dump.toFile()).apply(ItemFilters.type("instr.MethodCall")).hasItems());
        }
    }

    /** The buffer is a hundred times smaller than the records. */
    @EachJdk(oldestAndNewest = true)
    void aRingKeepsTheNewestPart(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = recorded(jdk, "mode = \"ring\"\nkeep-mb = 1\ndump-at-exit = true", directory)) {
            for (int round = 0; round < 100; round++) {
                program.ask("work 50000");
            }
            // While the rings are full, the last call would be lost like others.
            ControlSocket.awaitCalls(program, 5_000_000);
            program.ask("slow 1");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Path dump = dumps(directory, "end").get(0);
        Trace trace = Trace.read(dump);
        assertTrue(Files.size(dump) < 3 << 19, "bytes: " + Files.size(dump));
        assertTrue(trace.count(STEP) > 20_000 && trace.count(STEP) < 200_000, "calls: " + trace.count(STEP));
        assertEquals(1, trace.count("targets.Recorded.slow"), "the last call is there");
        assertEquals(1, trace.events("instr.StartUpDone").size());
        assertEquals("the JVM ends", reason(trace));
        assertEquals(5_000_001, stats(directory).stats().figure("records") + stats(directory).stats().figure("lost"));
    }

    @EachJdk(oldestAndNewest = true)
    void aSlowCallHasTheRingDumpedButNotEachOne(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        String keys = """
                mode = "ring"
                dump-when-call-ms = 200
                dump-when-call = "targets.**.slow"
                dump-distance-seconds = 1
                max-dumps = 2
                """;
        try (Dialog program = recorded(jdk, keys, directory)) {
            program.ask("work 100");
            program.ask("slow 10");
            for (int turn = 0; turn < 5; turn++) {
                program.ask("slow 250");
                program.ask("slow 250");
                program.ask("pause 600");
            }
            program.send("quit");
            assertEquals("", program.finish().assertExitCode(0).stderr());
        }
        List<Path> dumps = dumps(directory, "slow-call");
        assertEquals(2, dumps.size(), dumps + "");
        Trace trace = Trace.read(dumps.get(0));
        assertEquals(100, trace.count(STEP), "what was before the slow call");
        Matcher slow = Pattern.compile("slow call: targets.Recorded.slow took (\\d+) ms").matcher(reason(trace));
        // Any of the calls of this length, also a shorter one that the machine held up.
        assertTrue(slow.matches() && Integer.parseInt(slow.group(1)) >= 200, reason(trace));
        long millis = Long.parseLong(slow.group(1));
        assertTrue(trace.callsOf("targets.Recorded.slow").stream().anyMatch(call -> call.duration() / 1_000_000 == millis), reason(trace));
    }

    @EachJdk(having = "jfr")
    void theToolsOfTheJdkReadADump(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = recorded(jdk, "mode = \"ring\"\nkeep-seconds = 2\ndump-at-exit = true", directory)) {
            for (int turn = 0; turn < 5; turn++) {
                program.ask("pause 1500");
                program.ask("work 100");
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        String dump = dumps(directory, "end").get(0).toString();
        Finished summary = Tool.run(jdk, "jfr", List.of("summary", dump)).assertExitCode(0);
        assertEquals("", summary.stderr());
        Finished printed = Tool.run(jdk, "jfr", List.of("print", "--events", "instr.MethodCall,instr.Phase", dump)).assertExitCode(0);
        assertTrue(printed.stdout().contains("step(int)") && printed.stdout().contains("the JVM ends"), printed.stdout());
        long calls = printed.stdout().lines().filter(line -> line.contains("step(int)")).count();
        assertTrue(calls < 500, "the first hundred calls are older than two seconds and a chunk: " + calls);
    }

    private static Dialog recorded(Jdk jdk, String traceLines, Path directory) {
        AgentConfig config = AgentConfig.of(traceLines, "", RULE).ungoverned();
        return Program.target(jdk, "targets.Recorded").talkWithAgent(config, directory);
    }

    private static Trace trace(Path directory) {
        return stats(directory).trace();
    }

    private static Finished stats(Path directory) {
        return Finished.in(directory);
    }

    private static List<Path> dumps(Path directory, String reason) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.getFileName().toString().matches("trace-\\d{8}T\\d{6}Z-" + reason + "(-\\d+)?\\.jfr"))
                    .sorted()
                    .toList();
        }
    }

    private static List<Long> counts(List<Path> dumps) {
        return dumps.stream().map(dump -> Trace.read(dump).count(STEP)).sorted().toList();
    }

    private static List<String> phases(Trace trace) {
        return trace.events("instr.Phase").stream().map(event -> event.getString("phase")).toList();
    }

    private static String reason(Trace trace) {
        List<RecordedEvent> phases = trace.events("instr.Phase");
        return phases.get(phases.size() - 1).getString("reason");
    }
}
