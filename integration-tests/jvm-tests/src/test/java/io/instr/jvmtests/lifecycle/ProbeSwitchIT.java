package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** All probes off and on again: by request, and by the breaker while the JVM is short of heap. */
class ProbeSwitchIT {

    private static final String STEP = "targets.HeapPressure.step";

    @EachJdk
    void oneRequestSwitchesProbesOfEveryLevelOffAndAnotherOnAgain(Jdk jdk) throws IOException {
        for (String tables : new String[] {"[governor]\nenabled = false\n", "[control]\nlive = true\n[governor]\nenabled = false\n"}) {
            Path directory = RunDirectories.create();
            try (Dialog program = start(jdk, tables, "time", directory)) {
                program.ask("work 100");
                assertEquals("{\"changed\":true,\"paused\":[\"request\"]}", ask(program, "pause"));
                assertEquals("{\"changed\":false,\"paused\":[\"request\"]}", ask(program, "pause"));
                program.ask("work 1000");
                assertTrue(ControlSocket.status(program).contains("\"paused\":[\"request\"]"));
                assertEquals("{\"changed\":true,\"paused\":[]}", ask(program, "resume"));
                assertEquals("{\"changed\":false,\"paused\":[]}", ask(program, "resume"));
                program.ask("work 7");
                program.send("quit");
                program.finish().assertExitCode(0);
            }
            Trace trace = trace(directory);
            assertEquals(107, trace.count(STEP), "calls while the probes were on");
            assertEquals(List.of("all probes paused by request", "all probes resumed by request"), notes(trace, "switch"));
        }
    }

    /** Each part of the program does something else, so that no moment has to be compared with another one. */
    @EachJdk
    void levelWatchIsPausedAndTicksAgainAfterwards(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        AgentConfig config = AgentConfig.of("""
                [governor]
                enabled = false
                [watch]
                tick-us = 1000
                [[rule]]
                class = ["targets.Conversation", "targets.Durations"]
                level = "watch"
                """);
        try (Dialog program = Program.target(jdk, "targets.Conversation").talkWithAgent(config, directory)) {
            askUntilRecorded(program, "query before");
            ask(program, "pause");
            // As long as hundreds of ticks.
            program.ask("map 3000000");
            ask(program, "resume");
            askUntilRecorded(program, "busy 20000000");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        assertEquals(List.of("all probes paused by request", "all probes resumed by request"), notes(trace, "switch"));
        assertTrue(trace.count("targets.Conversation.query") > 0, "calls before the pause");
        assertEquals(0, trace.count("targets.Conversation.fill"), "calls in the pause");
        assertTrue(trace.count("targets.Durations.busy") > 0, "calls after the pause");
    }

    /** Repeats a command until the agent has recorded several calls more: the thread that ticks may be late on a busy machine. */
    private static void askUntilRecorded(Dialog program, String command) {
        long enough = ControlSocket.calls(ControlSocket.status(program)) + 10;
        Awaiting.await(() -> {
            program.ask(command);
            return ControlSocket.calls(ControlSocket.status(program));
        }, calls -> calls >= enough);
    }

    @EachJdk(oldestAndNewest = true)
    void theBreakerOpensWhileTheJvmOnlyCollectsAndClosesWhenItIsWell(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        String tables = "[control]\nlive = true\n[governor]\nbudget-percent = 0\ngc-percent = 25\nrecovery-seconds = 1\n";
        try (Dialog program = start(jdk, tables, "time", directory, "-Xmx128m", "-XX:+UseSerialGC")) {
            program.ask("work 100");
            program.ask("press");
            ControlSocket.await(program, status -> status.contains("\"paused\":[\"breaker\"]"));
            assertTrue(ControlSocket.status(program).contains("\"breaker\":\"garbage collections took"));
            program.ask("work 1000");
            program.ask("release");
            ControlSocket.await(program, status -> status.contains("\"paused\":[]"));
            program.ask("work 7");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        assertEquals(107, trace.count(STEP), "calls while the breaker was closed");
        List<String> notes = notes(trace, "breaker");
        assertEquals(2, notes.size(), notes.toString());
        assertTrue(notes.get(0).startsWith("breaker open") && notes.get(1).startsWith("breaker closed"), notes.toString());
    }

    private static Dialog start(Jdk jdk, String tables, String level, Path directory, String... options) throws IOException {
        AgentConfig config = AgentConfig.of(tables + """
                [[rule]]
                class = "targets.HeapPressure"
                level = "%s"
                """.formatted(level));
        return Program.target(jdk, "targets.HeapPressure").with(options).talkWithAgent(config, directory);
    }

    private static String ask(Dialog program, String what) {
        return ControlSocket.ask(program, "{\"ask\":\"" + what + "\"}");
    }

    private static List<String> notes(Trace trace, String kind) {
        return trace.events("instr.Note").stream()
                .filter(note -> note.getString("kind").equals(kind))
                .map(note -> note.getString("message"))
                .toList();
    }

    private static Trace trace(Path directory) {
        return Finished.in(directory).trace();
    }
}
