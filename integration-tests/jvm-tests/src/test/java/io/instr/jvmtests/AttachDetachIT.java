package io.instr.jvmtests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
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

/** The agent comes into a running JVM, goes, and comes again. */
class AttachDetachIT {

    @EachJdk(having = "jcmd")
    void attachDetachAttach(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, List.of(), directory)) {
            String original = program.ask("position");
            program.ask("work 100");
            program.ask("map 300");

            load(jdk, program, config(directory, "first"));
            assertNotEquals(original, program.ask("position"), "a template stands in the method");
            assertEquals("sum 2001", program.ask("work 1000"));
            assertEquals("size 500", program.ask("map 500"));

            load(jdk, program, "detach");
            assertEquals(original, program.ask("position"), "the body is the original one");
            program.ask("work 700");
            program.ask("map 700");

            load(jdk, program, config(directory, "second"));
            assertNotEquals(original, program.ask("position"), "instrumented again");
            program.ask("work 50");
            program.send("quit");
            assertQuiet(program.finish());
        }
        Trace first = new Finished(0, "", "", directory.resolve("first"), List.of()).trace();
        assertEquals(1000, first.count("targets.Conversation.step"), "calls while attached the first time");
        assertTrue(first.count("java.util.HashMap.put") >= 500, "calls of a class of the JDK");
        Trace second = new Finished(0, "", "", directory.resolve("second"), List.of()).trace();
        assertEquals(50, second.count("targets.Conversation.step"), "calls while attached the second time");
    }

    @EachJdk(having = "jcmd")
    void detachOfAnAgentFromTheCommandLine(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        String config = config(directory, "start");
        try (Dialog program = conversation(jdk, List.of(Program.agentOption(config)), directory)) {
            String instrumented = program.ask("position");
            program.ask("work 200");
            load(jdk, program, "detach");
            assertNotEquals(instrumented, program.ask("position"), "the template has gone");
            program.ask("work 300");
            program.send("quit");
            assertQuiet(program.finish());
        }
        Trace trace = new Finished(0, "", "", directory.resolve("start"), List.of()).trace();
        assertEquals(200, trace.count("targets.Conversation.step"));
    }

    private static Dialog conversation(Jdk jdk, List<String> agent, Path directory) {
        Dialog program = Program.target(jdk, "targets.Conversation")
                .with("-XX:+EnableDynamicAgentLoading", "-Xverify:all")
                .talk(agent, directory);
        assertEquals("ready", program.next());
        return program;
    }

    /** A configuration whose trace and figures go into a directory of their own. */
    private static String config(Path parent, String name) throws IOException {
        Path directory = Files.createDirectory(parent.resolve(name));
        String text = AgentConfig.timed("targets.Conversation", "java.util.HashMap")
                .text()
                .replace("\"trace.jfr\"", "\"" + directory.resolve("trace.jfr") + "\"")
                .replace("\"stats.json\"", "\"" + directory.resolve("stats.json") + "\"");
        return Files.writeString(directory.resolve("instr.toml"), text).toString();
    }

    /** Loads the agent into a running program: {@code options} are a configuration, or {@code detach}. */
    static void load(Jdk jdk, Dialog program, String options) {
        // jcmd takes the quotes away once more.
        List<String> command =
                List.of(String.valueOf(program.pid()), "JVMTI.agent_load", BuildResult.AGENT.path().toString(), "\"" + options + "\"");
        Finished answer = Tool.run(jdk, "jcmd", command).assertExitCode(0);
        assertTrue(answer.stdout().contains("return code: 0"), answer.stdout() + answer.stderr());
    }

    private static void assertQuiet(Finished run) {
        run.assertExitCode(0);
        assertEquals("", run.stderr());
    }
}
