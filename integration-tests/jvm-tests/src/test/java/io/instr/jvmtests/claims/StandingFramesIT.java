package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.nio.file.Path;
import java.util.List;

/** A loop that never returns keeps its compiled code, whatever is asked for its class. */
class StandingFramesIT {

    /** Of the loop's processor time, in which passes are counted. */
    private static final int MILLIS = 300;
    private static final String CLAIMS = "{\"ask\":\"claims\"}";
    private static final AgentConfig NO_RULE = AgentConfig.of("[[rule]]\nclass = \"other.**\"\n").ungoverned();
    private static final String WAITS = "targets.MainLoop$Spinner waits for its probes: targets.MainLoop$Spinner.spin runs in a loop in thread spinner";

    /** HotSpot interprets a frame of an old version of a method for ever: a tenth of the passes. */
    @EachJdk(having = "jcmd")
    void aClassWhoseLoopRunsWaitsUntilItReturns(Jdk jdk) {
        Path directory = RunDirectories.create();
        try (Dialog program = Program.target(jdk, "targets.MainLoop").with("-XX:+EnableDynamicAgentLoading").talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            passes(program);
            long before = passes(program);
            Attachment.attach(jdk, program, Attachment.prepare(directory, "first", AgentConfig.of("""
                    [control]
                    live = true
                    [governor]
                    enabled = false
                    [[rule]]
                    class = "targets.MainLoop*"
                    level = "time"
                    """)));
            assertAsFast(program, MILLIS, before, "after an attach");
            ControlSocket.await(program, status -> status.contains(WAITS));
            String claims = ControlSocket.ask(program, CLAIMS);
            assertTrue(claims.contains("\"state\":\"waiting\"") && claims.contains("generation 1; " + WAITS), claims);
            String explained = Tool.instr(List.of("explain", "--live", String.valueOf(program.pid()), "targets.MainLoop$Spinner")).stdout();
            assertTrue(explained.contains("\n  no  targets.MainLoop$Spinner: " + WAITS), explained);
            assertEquals("returned", program.ask("return"));
            ControlSocket.await(program, status -> !status.contains("\"waiting\":[\""));
            ControlSocket.awaitAnswer(program, CLAIMS, rules -> rules.contains("\"state\":\"active\""));
            assertEquals("sum 2001", program.ask("help 1000"));
            ControlSocket.awaitCalls(program, 1001);
            Attachment.detach(jdk, program);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertEquals(1000, Attachment.leftBehind(directory, "first").trace().count("targets.MainLoop$Spinner.step"));
    }

    /** A claim whose class waits can be ended, and that touches the class as little. */
    @EachJdk(oldestAndNewest = true)
    void aClaimOnAClassThatWaitsIsEndedWithoutTouchingIt(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = Program.target(jdk, "targets.MainLoop").talkWithAgent(NO_RULE, directory)) {
            passes(program);
            long before = passes(program);
            String made = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"targets.MainLoop*.*\",\"seconds\":600}");
            assertTrue(made.contains(WAITS), made);
            String claims = ControlSocket.ask(program, CLAIMS);
            assertTrue(claims.contains("\"state\":\"waiting\""), claims);
            assertTrue(claims.contains("\"class\":\"other.**\",\"method\":\"*\",\"level\":\"watch\",\"state\":\"pending\""), claims);
            assertTrue(claims.contains("generation 1; it takes no method: no class matches `other.**`"), claims);
            ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":1}");
            ControlSocket.await(program, status -> status.contains("\"waiting\":[]"));
            assertAsFast(program, MILLIS, before, "after the end of the claim");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** The class was not changed, so it is not restored either: that alone would have its loop interpreted. */
    @EachJdk(oldestAndNewest = true)
    void aDiagnosisOfAClassThatWaitsEndsWithoutTouchingIt(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = Program.target(jdk, "targets.MainLoop").talkWithAgent(NO_RULE, directory)) {
            passes(program);
            long before = passes(program);
            Finished diagnosed = Tool.instr(
                List.of("diagnose", String.valueOf(program.pid()), "targets.MainLoop$Spinner.help", "--slower-than", "1ms", "--for", "4s"));
            diagnosed.assertExitCode(3);
            assertTrue(diagnosed.stdout().contains("0 classes, 0 retransformations"), diagnosed::toString);
            // While it waits, and at the end.
            assertTrue(diagnosed.stderr().contains("waits for its probes: targets.MainLoop$Spinner"), diagnosed::toString);
            assertTrue(diagnosed.stdout().contains("its time is over") && diagnosed.stdout().contains(WAITS), diagnosed::toString);
            assertAsFast(program, MILLIS, before, "after the diagnosis");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** A scheduler: it works for a moment, and sleeps for much longer. */
    @EachJdk(oldestAndNewest = true)
    void aLoopThatMostlySleepsKeepsItsCompiledCode(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Program target = Program.target(jdk, "targets.MainLoop", "sleeps");
        try (Dialog program = target.talkWithAgent(NO_RULE, directory)) {
            passes(program, 20);
            long before = passes(program, 20);
            String made = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"targets.MainLoop*.*\",\"seconds\":600}");
            assertTrue(made.contains(WAITS), made);
            assertAsFast(program, 20, before, "with a claim");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static void assertAsFast(Dialog program, int millis, long before, String when) {
        long after = passes(program, millis);
        assertTrue(after > before / 2, after + " passes " + when + ", " + before + " before");
    }

    private static long passes(Dialog program) {
        return passes(program, MILLIS);
    }

    private static long passes(Dialog program, int millis) {
        return Long.parseLong(program.ask("passes " + millis).split(" ")[1]);
    }
}
