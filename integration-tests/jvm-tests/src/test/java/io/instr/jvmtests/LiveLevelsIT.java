package io.instr.jvmtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** Levels change while the program runs: by request and by the governor. */
class LiveLevelsIT {

    /** Number of the compilation, flags, level 4. */
    private static final Pattern COMPILED_BY_C2 = Pattern.compile("\\]\\s+\\d+[\\sbsn!]+4\\s");
    private static final String STEP = "targets.Conversation.step";

    @EachJdk
    void eachCallIsRecordedAtTheLevelOfItsTime(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path socket;
        try (Dialog program = conversation(jdk, "[control]\nlive = true\n", "off", directory)) {
            socket = ControlSocket.path(program);
            program.ask("work 1000");
            assertEquals("{\"changed\":1,\"live\":8}", ControlSocket.level(program, STEP, "time"));
            program.ask("work 500");
            ControlSocket.level(program, "targets.**", "watch");
            program.ask("work 100");
            ControlSocket.level(program, "targets.Conversation.*", "off");
            program.ask("work 300");
            ControlSocket.level(program, STEP, "time");
            program.ask("work 7");
            assertEquals("{\"changed\":0,\"live\":8}", ControlSocket.level(program, "other.**", "time"));
            assertTrue(ControlSocket.ask(program, "nonsense").contains("error"));
            assertTrue(ControlSocket.status(program).contains("\"live\":[7,0,1]"), ControlSocket.status(program));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        long exact = trace.callsOf(STEP).stream().filter(Trace.Call::exact).count();
        assertEquals(507, exact, "calls while the level was time");
        assertTrue(trace.callsOf("targets.Conversation.work").stream().noneMatch(Trace.Call::exact));
        assertFalse(Files.exists(socket), "the socket goes with the program");
    }

    /** Otherwise each change would throw thousands of methods back to the interpreter. */
    @EachJdk
    void aChangeOfLevelThrowsNoCompiledMethodAway(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path log = directory.resolve("jit.txt");
        try (Dialog program = conversation(jdk, "[control]\nlive = true\n", "off", directory, "-Xlog:jit+compilation=debug:file=" + log)) {
            for (int i = 0; i < 20; i++) {
                program.ask("work 100000");
            }
            for (String level : new String[] {"watch", "time", "off", "time", "watch"}) {
                ControlSocket.level(program, "targets.**", level);
                program.ask("work 20000");
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        List<String> thrownAway = Files.readAllLines(log).stream()
                .filter(line -> line.contains("made not entrant") && COMPILED_BY_C2.matcher(line).find())
                .filter(line -> line.contains("targets.Conversation::") || line.contains("java.instr.Live::"))
                .toList();
        assertEquals(List.of(), thrownAway);
    }

    @EachJdk
    void theGovernorSetsTheHottestMethodToWatchAndSaysSo(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        String status = "";
        long calls = 0;
        try (Dialog program = conversation(jdk, "[governor]\nbudget-percent = 3\n", "time", directory)) {
            for (int round = 0; round < 200 && !status.contains(STEP + " set to watch"); round++) {
                program.ask("work 200000");
                calls += 200_000;
                status = ControlSocket.status(program);
            }
            for (int round = 0; round < 10; round++) {
                program.ask("work 200000");
                calls += 200_000;
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertTrue(status.contains(STEP + " set to watch"), status);
        assertTrue(status.contains("\"budget_percent\":3"), status);
        Trace trace = trace(directory);
        assertTrue(trace.callsOf(STEP).stream().filter(Trace.Call::exact).count() <= calls - 2_000_000, "the rest is not timed");
        assertTrue(trace.callsOf("targets.Conversation.work").stream().allMatch(Trace.Call::exact), "rare calls stay exact");
    }

    @EachJdk
    void aRuleCanKeepTheGovernorOut(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        long calls = 0;
        try (Dialog program = conversation(jdk, "[governor]\nbudget-percent = 1\n", "time\"\ngoverned = false #", directory)) {
            for (int round = 0; round < 10; round++) {
                program.ask("work 200000");
                calls += 200_000;
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertEquals(calls, trace(directory).count(STEP));
    }

    private static Dialog conversation(Jdk jdk, String tables, String level, Path directory, String... options) throws IOException {
        AgentConfig config = AgentConfig.of(tables + """
                [[rule]]
                class = "targets.Conversation"
                level = "%s"
                """.formatted(level));
        String file = config.writeTo(directory).getFileName().toString();
        Dialog program = Program.target(jdk, "targets.Conversation")
                .with(options)
                .talk(List.of(Program.agentOption(file)), directory);
        assertEquals("ready", program.next());
        return program;
    }

    private static Trace trace(Path directory) {
        return new Finished(0, "", "", directory, List.of()).trace();
    }
}
