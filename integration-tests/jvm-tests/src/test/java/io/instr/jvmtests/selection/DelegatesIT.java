package io.instr.jvmtests.selection;

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
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a method hands to an executor gets the template of the rule, whichever class is loaded first. */
class DelegatesIT {

    private static final String LAMBDA = "targets.Submitting.lambda$all$0";
    private static final String REFERENCE = "targets.HandedJobs.run";
    private static final String SINKS = """
            [[rule]]
            class = "targets.Submitting"
            delegates = "sinks"
            level = "time"
            """;

    private static final String OTHERS = """
            [[rule]]
            class = "targets.Conversation"
            """;

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true)
    void theClassOfTheDelegateIsLoadedLater(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, SINKS)) {
            program.ask("submit 3");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertCalls(3, 3);
    }

    @EachJdk(oldestAndNewest = true)
    void theClassOfTheDelegateIsLoadedBefore(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, SINKS)) {
            assertEquals("loaded 3", program.ask("load"));
            program.ask("submit 0");
            awaitRetransformed(program, 1);
            program.ask("submit 4");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertCalls(4, 4);
    }

    @EachJdk(oldestAndNewest = true)
    void aReloadMarksAndUnmarks(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, OTHERS)) {
            program.ask("submit 2");
            write(SINKS);
            ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            awaitRetransformed(program, 2);
            program.ask("submit 3");
            // The same rule in other words: what was found is enough to find the delegates again.
            write(SINKS.replace("targets.Submitting", "targets.Submit*"));
            ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            program.ask("submit 1");
            write(OTHERS);
            String answer = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            assertTrue(answer.contains("\"classes_changed\":2,"), answer);
            program.ask("submit 5");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertCalls(4, 4);
    }

    private void assertCalls(long lambda, long reference) {
        Trace trace = Finished.in(directory).trace();
        assertEquals(lambda, trace.count(LAMBDA), LAMBDA);
        assertEquals(reference, trace.count(REFERENCE), REFERENCE);
        assertEquals(0, trace.count("targets.Submitting.all"), "the method itself");
    }

    private static void awaitRetransformed(Dialog program, int classes) {
        ControlSocket.await(program, status ->
                ControlSocket.number(status.substring(status.indexOf("\"retransforms\"")), "classes") >= classes);
    }

    private Dialog start(Jdk jdk, String rules) throws IOException {
        return Program.target(jdk, "targets.Handing").with("-Xverify:all").talkWithAgent(AgentConfig.of(rules).ungoverned(), directory);
    }

    private void write(String rules) throws IOException {
        Files.writeString(directory.resolve("instr.toml"), AgentConfig.of(rules).ungoverned().text());
    }

    private static void assertQuiet(Finished run) {
        run.assertExitCode(0);
        assertEquals("", run.stderr());
    }
}
