package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** {@code instr attach}, {@code ps} and {@code detach}: the command line asks the JVM itself, without the JDK's tools. */
class AttachVerbIT {

    private static final Duration LONGEST_TO_FIRST_EVENT = Duration.ofSeconds(2);

    @EachJdk(oldestAndNewest = true)
    void anAgentIsAttachedListedAndDetached(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, directory)) {
            String original = program.ask("position");
            assertEquals("null", agentIn(program));

            Duration first = attachUntilFirstEvent(program, config(directory, "first"));
            assertNotEquals(original, program.ask("position"), "the method contains a template");
            String agent = agentIn(program);
            assertTrue(agent.contains("\"answers\": true") && agent.contains(directory.resolve("first/trace.jfr").toString()), agent);
            Finished again = instr("attach", program, config(directory, "again").toString());
            assertFails(again, "has the agent already");

            Finished detached = instr("detach", program).assertExitCode(0);
            assertTrue(detached.stdout().contains("first/trace.jfr"), detached.stdout());
            assertEquals(original, program.ask("position"), "the body is the original one");
            assertTrue(agentIn(program).contains("\"answers\": false"));
            assertFails(instr("detach", program), "no active agent to detach");

            Duration second = attachUntilFirstEvent(program, config(directory, "second"));
            // On a machine that has other things to do, one of both is undisturbed.
            Duration shorter = first.compareTo(second) < 0 ? first : second;
            System.out.println("from `instr attach` to the first event, " + jdk + ": " + first.toMillis() + " and " + second.toMillis() + " ms");
            assertTrue(shorter.compareTo(LONGEST_TO_FIRST_EVENT) < 0, shorter.toString());
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertEquals("", run.stderr());
        }
        assertEquals(100, Attachment.leftBehind(directory, "first").trace().count("targets.Conversation.step"));
        assertEquals(100, Attachment.leftBehind(directory, "second").trace().count("targets.Conversation.step"));
    }

    @EachJdk(oldestAndNewest = true)
    void aJvmIsNotTouchedWhenItsAgentCouldNotWork(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, directory)) {
            Path bad = Files.writeString(directory.resolve("bad.toml"), "[[rule]]\nclass = \"a.B\"\ntemplate = \"tmied\"\n");
            Finished mistaken = instr("attach", program, bad.toString());
            assertFails(mistaken, "did you mean `timed`?");
            assertTrue(mistaken.stderr().contains("^^^^^^^"), mistaken.stderr());
            assertFails(instr("detach", program), "no agent to detach");

            new ProcessBuilder("kill", "-STOP", String.valueOf(program.pid())).start().onExit().join();
            assertFails(instr("attach", program, config(directory, "stopped").toString()), "is stopped");
            new ProcessBuilder("kill", "-CONT", String.valueOf(program.pid())).start().onExit().join();
            assertEquals("null", agentIn(program));
            program.send("quit");
            // No thread dump, no message.
            assertEquals("", program.finish().assertExitCode(0).stderr());
        }
    }

    /** Older JVMs take short names only: they are asked before, and refuse with the reason. */
    @EachJdk(oldestAndNewest = true)
    void aLongNameIsTakenOrRefusedWithItsReason(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path deep = directory;
        while (deep.toString().length() < 1024) {
            deep = deep.resolve("d".repeat(200));
        }
        Path config = config(Files.createDirectories(deep), "long");
        try (Dialog program = conversation(jdk, directory)) {
            Finished attached = instr("attach", program, config.toString());
            if (jdk.feature() >= 24) {
                attached.assertExitCode(0);
                instr("detach", program).assertExitCode(0);
            } else {
                assertFails(attached, "takes names of at most 1024 bytes");
            }
            program.send("quit");
            assertEquals("", program.finish().assertExitCode(0).stderr());
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aJvmThatForbidsToAttachIsNotAsked(Jdk jdk) throws IOException {
        for (String forbidden : List.of("-XX:+DisableAttachMechanism", "-XX:-EnableDynamicAgentLoading")) {
            Path directory = RunDirectories.create();
            try (Dialog program = Program.target(jdk, "targets.Conversation").with(forbidden).talk(List.of(), directory)) {
                assertEquals("ready", program.next());
                assertFails(instr("attach", program, config(directory, "first").toString()), forbidden);
                program.send("quit");
                assertEquals("", program.finish().assertExitCode(0).stderr());
            }
        }
    }

    /** The standard error of the JVM, which has the same reason, is often read by nobody. */
    @EachJdk(from = 25)
    void whoAttachesReadsThatTheTraceFileCannotBeWritten(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, directory)) {
            Path config = config(directory, "first");
            String file = directory.resolve("first/trace.jfr").toString();
            Files.writeString(config, Files.readString(config).replace(file, directory.resolve("absent/trace.jfr").toString()));
            Finished attached = instr("attach", program, config.toString());
            assertFails(attached, "absent/trace.jfr: No such file or directory");
            assertTrue(attached.stderr().contains("`file` in [trace]") && attached.stdout().contains("is attached"), attached.stderr() + attached.stdout());
            program.ask("work 100");
            ControlSocket.awaitCalls(program, 100);
            instr("detach", program).assertExitCode(0);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** From {@code instr probe} to the first recorded call, for methods of an agent that is attached. */
    @EachJdk(oldestAndNewest = true)
    void aMethodThatIsChosenIsRecordedWithinTwoSeconds(Jdk jdk) {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, directory)) {
            Path config = Attachment.prepare(directory, "first", AgentConfig.timed("other.*").ungoverned());
            instr("attach", program, config.toString()).assertExitCode(0);
            Duration first = probeUntilFirstEvent(program, "step", "work 100", 100);
            Duration second = probeUntilFirstEvent(program, "query", "query abc", 101);
            Duration shorter = first.compareTo(second) < 0 ? first : second;
            System.out.println("from `instr probe` to the first event, " + jdk + ": " + first.toMillis() + " and " + second.toMillis() + " ms");
            assertTrue(shorter.compareTo(LONGEST_TO_FIRST_EVENT) < 0, shorter.toString());
            program.send("quit");
            assertEquals("", program.finish().assertExitCode(0).stderr());
        }
    }

    private static Duration probeUntilFirstEvent(Dialog program, String method, String work, long calls) {
        long begin = System.nanoTime();
        instr("probe", program, "targets.Conversation." + method).assertExitCode(0);
        program.ask(work);
        ControlSocket.awaitCalls(program, calls);
        return Duration.ofNanos(System.nanoTime() - begin);
    }

    /** Returns the time from the command to the moment at which recorded calls are reported. */
    private static Duration attachUntilFirstEvent(Dialog program, Path config) {
        long begin = System.nanoTime();
        Finished attached = instr("attach", program, config.toString()).assertExitCode(0);
        program.ask("work 100");
        ControlSocket.awaitCalls(program, 100);
        Duration time = Duration.ofNanos(System.nanoTime() - begin);
        assertTrue(attached.stdout().contains("is attached to process " + program.pid()), attached.stdout());
        return time;
    }

    private static Finished instr(String verb, Dialog program, String... further) {
        String pid = String.valueOf(program.pid());
        return Tool.instr(further.length == 0 ? List.of(verb, pid) : List.of(verb, pid, further[0]));
    }

    private static void assertFails(Finished run, String reason) {
        run.assertExitCode(1);
        assertTrue(run.stderr().contains(reason), run.stderr());
    }

    /** Returns what {@code instr ps --json} says of the agent in this program: {@code null} if it has none. */
    private static String agentIn(Dialog program) {
        String listed = Tool.instr(List.of("ps", "--json")).assertExitCode(0).stdout();
        // Keys are in alphabetic order.
        String entry = "\\{\\s+\"agent\": (null|\\{[^}]*})(?:(?!\"agent\").)*?\"pid\": " + program.pid() + "\\b";
        Matcher agent = Pattern.compile(entry, Pattern.DOTALL).matcher(listed);
        assertTrue(agent.find(), "not listed: " + listed);
        return agent.group(1);
    }

    private static Dialog conversation(Jdk jdk, Path directory) {
        Dialog program = Program.target(jdk, "targets.Conversation")
                .with("-XX:+EnableDynamicAgentLoading", "-Xverify:all")
                .talk(List.of(), directory);
        assertEquals("ready", program.next());
        return program;
    }

    private static Path config(Path parent, String name) {
        return Attachment.prepare(parent, name, AgentConfig.timed("targets.Conversation").ungoverned());
    }
}
