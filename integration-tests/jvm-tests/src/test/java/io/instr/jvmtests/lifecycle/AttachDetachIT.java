package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.nio.file.Path;
import java.util.List;

/** The agent is attached to a running JVM, detached, and attached again. */
class AttachDetachIT {

    @EachJdk(having = "jcmd")
    void attachDetachAttach(Jdk jdk) {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, List.of(), directory)) {
            String original = program.ask("position");
            program.ask("work 100");
            program.ask("map 300");

            Attachment.attach(jdk, program, config(directory, "first"));
            assertNotEquals(original, program.ask("position"), "the method contains a template");
            assertEquals("sum 2001", program.ask("work 1000"));
            assertEquals("size 500", program.ask("map 500"));

            Attachment.detach(jdk, program);
            assertEquals(original, program.ask("position"), "the body is the original one");
            program.ask("work 700");
            program.ask("map 700");

            Attachment.attach(jdk, program, config(directory, "second"));
            assertNotEquals(original, program.ask("position"), "instrumented again");
            program.ask("work 50");
            program.send("quit");
            assertQuiet(program.finish());
        }
        Trace first = Attachment.leftBehind(directory, "first").trace();
        assertEquals(1000, first.count("targets.Conversation.step"), "calls while attached the first time");
        assertTrue(first.count("java.util.HashMap.put") >= 500, "calls of a class of the JDK");
        Trace second = Attachment.leftBehind(directory, "second").trace();
        assertEquals(50, second.count("targets.Conversation.step"), "calls while attached the second time");
    }

    @EachJdk(having = "jcmd")
    void detachOfAnAgentFromTheCommandLine(Jdk jdk) {
        Path directory = RunDirectories.create();
        Path config = config(directory, "start");
        try (Dialog program = conversation(jdk, List.of(Program.agentOption(config.toString())), directory)) {
            String instrumented = program.ask("position");
            program.ask("work 200");
            Attachment.detach(jdk, program);
            assertNotEquals(instrumented, program.ask("position"), "the template has gone");
            program.ask("work 300");
            program.send("quit");
            assertQuiet(program.finish());
        }
        Trace trace = Attachment.leftBehind(directory, "start").trace();
        assertEquals(200, trace.count("targets.Conversation.step"));
    }

    /** Rewritten before the agent leaves, defined and linked afterwards. */
    @EachJdk(having = "jcmd")
    void classesThatAreBeingLoadedDuringADetachAreRestored(Jdk jdk) {
        Path directory = RunDirectories.create();
        String original;
        try (Dialog program = slowDefinition(jdk, List.of(), directory)) {
            program.ask("begin");
            original = program.ask("finish");
            program.send("quit");
            assertQuiet(program.finish());
        }
        Path config = Attachment.prepare(directory, "start", AgentConfig.timed("targets.SlowDefinition$*"));
        try (Dialog program = slowDefinition(jdk, List.of(Program.agentOption(config.toString())), directory)) {
            program.ask("begin");
            Attachment.detach(jdk, program);
            assertEquals(original, program.ask("finish"), "the bodies are the original ones");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertTrue(Attachment.leftBehind(directory, "start").stats().figure("classes_rewritten") >= 2, "both were rewritten");
    }

    /** A class that was never defined, of a loader that is gone: the JVM need not tell of each class that it links from now on. */
    @EachJdk(having = "jcmd")
    void nobodyWaitsForAClassWhoseLoaderIsGone(Jdk jdk) {
        Path directory = RunDirectories.create();
        String rule = "[[rule]]\nclass = \"targets.SlowDefinition$*\"\nlevel = \"time\"\n";
        Path config = Attachment.prepare(directory, "start", AgentConfig.of("", "log = \"debug\"", rule));
        try (Dialog program = slowDefinition(jdk, List.of(Program.agentOption(config.toString())), directory)) {
            program.ask("lose");
            Attachment.detach(jdk, program);
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertTrue(run.stderr().contains("targets/SlowDefinition$Derived"), "the agent has seen it: " + run.stderr());
            assertTrue(run.stderr().contains(" 0 classes are restored when they are linked"), run.stderr());
        }
    }

    private static Dialog slowDefinition(Jdk jdk, List<String> agent, Path directory) {
        Dialog program = Program.target(jdk, "targets.SlowDefinition")
                .with("-XX:+EnableDynamicAgentLoading", "-Xverify:all")
                .talk(agent, directory);
        assertEquals("ready", program.next());
        return program;
    }

    private static Dialog conversation(Jdk jdk, List<String> agent, Path directory) {
        Dialog program = Program.target(jdk, "targets.Conversation")
                .with("-XX:+EnableDynamicAgentLoading", "-Xverify:all")
                .talk(agent, directory);
        assertEquals("ready", program.next());
        return program;
    }

    private static Path config(Path parent, String name) {
        // Live probes as by default, but none that the governor lowers: calls are counted.
        return Attachment.prepare(parent, name, AgentConfig.of("""
                [control]
                live = true
                [governor]
                enabled = false
                [[rule]]
                class = ["targets.Conversation", "java.util.HashMap"]
                level = "time"
                constructors = true
                """));
    }

    private static void assertQuiet(Finished run) {
        run.assertExitCode(0);
        assertEquals("", run.stderr());
    }
}
