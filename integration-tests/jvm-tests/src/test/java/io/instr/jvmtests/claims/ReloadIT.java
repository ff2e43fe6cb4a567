package io.instr.jvmtests.claims;

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
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.consumer.RecordedEvent;

/** The configuration file is read again while the program runs. */
class ReloadIT {

    private static final String STEP = "targets.Conversation.step";
    private static final String QUERY = "targets.Conversation.query";
    private static final String PUT = "java.util.HashMap.put";
    private static final String STEPS = """
            [[rule]]
            class = "targets.Conversation"
            method = "step"
            level = "time"
            """;
    private static final String QUERIES = STEPS.replace("step", "query");
    private static final String RUNS = """
            [[rule]]
            extends = "java.util.Map"
            class = "java.util.HashMap"
            method = "put"
            level = "time"
            """;

    private final Path directory = RunDirectories.create();

    @EachJdk
    void rulesAreReplacedAndOnlyClassesThatDifferAreTouched(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, STEPS)) {
            String original = program.ask("position");
            program.ask("work 100");
            program.ask("query abc");
            program.ask("map 300");
            write(QUERIES);
            assertEquals("{\"generation\":2,\"rules\":1,\"classes_changed\":1,\"waiting\":[],\"warnings\":[]}", reload(program));
            program.ask("work 10");
            program.ask("query abc");
            long touched = touched(program);
            // Other lines, another name, the same wishes.
            write("# a comment\n\n" + QUERIES + "name = \"queries\"\n");
            assertTrue(reload(program).contains("\"generation\":3,\"rules\":1,\"classes_changed\":0,"));
            assertEquals(touched, touched(program), "no class differs");
            assertTrue(methods(program).contains("\"wanted_by\":[\"rule queries\"]"), methods(program));
            assertTrue(ControlSocket.status(program).contains("\"warnings\":[]"), "the rule has its method, although nothing was decided again");
            // Super types are asked for the first time, of a class that was loaded before.
            write(QUERIES + RUNS);
            assertTrue(reload(program).contains("\"generation\":4,\"rules\":2,\"classes_changed\":1,"));
            program.ask("map 500");
            assertEquals(original, program.ask("position"), "this method has never had a probe");
            write("");
            assertTrue(reload(program).contains("\"generation\":5,\"rules\":0,\"classes_changed\":2,"));
            program.ask("work 10");
            program.ask("query abc");
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"live\":[]") && status.contains("\"generation\":5"), status);
            program.send("quit");
            assertQuiet(program.finish());
        }
        Trace trace = trace();
        assertEquals(100, trace.count(STEP), "calls in the first generation");
        assertEquals(1, trace.count(QUERY), "calls in the second, third and fourth");
        assertTrue(trace.count(PUT) >= 500, "calls in the fourth");
        List<RecordedEvent> batches = trace.events("instr.Retransform").stream()
                .filter(event -> event.getString("reason").equals("reload"))
                .toList();
        assertEquals(4, batches.stream().mapToLong(event -> event.getLong("classes")).sum());
        for (RecordedEvent batch : batches) {
            assertTrue(!batch.getBoolean("rejected") && batch.getDuration("stopped").compareTo(batch.getDuration()) <= 0, batch::toString);
        }
        String report = Tool.instr(List.of("report", trace.file().toString())).stdout();
        assertTrue(report.contains("4 classes were retransformed while the program ran, in " + batches.size() + " batches (reload: "), report);
    }

    @EachJdk(oldestAndNewest = true)
    void aFileThatCannotBeUsedLeavesTheRulesInForce(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, STEPS)) {
            program.ask("work 1");
            write(QUERIES.replace("method", "metod"));
            String typo = reload(program);
            assertTrue(typo.contains("did you mean `method`?") && typo.contains("instr.toml:") && typo.contains("generation 1 stays in force"), typo);
            write("[watch]\ntick-us = 1000\n" + QUERIES);
            String fixed = reload(program);
            assertTrue(fixed.contains("[watch] cannot change while the agent runs"), fixed);
            Files.delete(directory.resolve("instr.toml"));
            String gone = reload(program);
            assertTrue(gone.contains("cannot read the configuration file") && gone.contains("generation 1 stays in force"), gone);
            Path file = directory.resolve("instr.toml");
            new ProcessBuilder("mkfifo", file.toString()).start().onExit().join();
            String pipe = reload(program);
            assertTrue(pipe.contains("it is a named pipe, not a regular file") && pipe.contains("generation 1 stays in force"), pipe);
            Files.delete(file);
            program.ask("work 9");
            write(QUERIES);
            assertTrue(reload(program).contains("\"generation\":2,"));
            program.ask("work 5");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(10, trace().count(STEP));
    }

    /** Level watch, live probes and their governor were not foreseen at the start. */
    @EachJdk(oldestAndNewest = true)
    void kindsOfProbesThatTheStartDidNotForeseeWork(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "")) {
            write(STEPS + QUERIES.replace("time", "full"));
            assertTrue(reload(program).contains("\"classes_changed\":1,"));
            program.ask("work 40");
            program.ask("query abc");
            ControlSocket.awaitCalls(program, 41);
            write(STEPS.replace("time", "watch") + QUERIES.replace("time", "watch"));
            assertTrue(reload(program).contains("\"classes_changed\":1,"));
            for (int i = 0; i < 20; i++) {
                program.ask("query abc");
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace();
        assertEquals(40, trace.callsOf(STEP).stream().filter(Trace.Call::exact).count());
        assertTrue(trace.callsOf(QUERY).stream().anyMatch(call -> !call.exact()), "calls of 5 ms are longer than a tick");
    }

    /** What was found in a class does not depend on the rules: others are decided without another look at it. */
    @EachJdk(oldestAndNewest = true)
    void aReloadAnalysesNoClassAgain(Jdk jdk) throws IOException {
        String byCategory = QUERIES + "template = \"category:catch-all\"\n";
        try (Dialog program = start(jdk, byCategory)) {
            program.ask("query abc");
            long analysed = analysed(program, "classes");
            assertTrue(analysed >= 1);
            // Another text that takes the same method: nothing is touched.
            long touched = touched(program);
            write(byCategory.replace("targets.Conversation", "targets.Conv*"));
            assertReloaded(program, "\"generation\":2,\"rules\":1,\"classes_changed\":0,");
            assertEquals(touched, touched(program));
            // The category names another template.
            write(byCategory.replace("catch-all", "database"));
            assertReloaded(program, "\"generation\":3,\"rules\":1,\"classes_changed\":1,");
            program.ask("query select");
            // Other methods, chosen by what they call, and nothing at all.
            write(STEPS.replace("method = \"step\"", "calls = \"java.lang.IllegalArgumentException.<init>\""));
            assertReloaded(program, "\"generation\":4,\"rules\":1,\"classes_changed\":1,");
            program.ask("work 3");
            write("");
            assertReloaded(program, "\"generation\":5,\"rules\":0,\"classes_changed\":1,");
            write(byCategory);
            assertReloaded(program, "\"generation\":6,\"rules\":1,\"classes_changed\":1,");
            assertEquals(analysed, analysed(program, "classes"));
            assertTrue(analysed(program, "reused") >= 4);
            program.ask("query abc");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(1, trace().events("instr.Statement").size(), "calls in the third");
        assertEquals(3, trace().count(QUERY), "calls in the first, the third and the last generation");
        assertEquals(3, trace().count(STEP), "calls in the fourth");
    }

    /** HotSpot does not keep the file of such a class: it writes another one for the class hook, without some attributes. */
    @EachJdk
    void aClassThatWasNotChangedWhenItWasLoadedIsRecognised(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, QUERIES + "size = \">60000\"\n")) {
            program.ask("query abc");
            long analysed = analysed(program, "classes");
            assertTrue(analysed >= 1);
            write(QUERIES);
            assertReloaded(program, "\"classes_changed\":1,");
            assertEquals(analysed, analysed(program, "classes"));
            program.ask("query abc");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(1, trace().count(QUERY));
    }

    /** Where the class file is, is known for loaded classes, too. */
    @EachJdk(oldestAndNewest = true)
    void aRuleThatNamesTheJarTakesAClassThatWasAnalysedBefore(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, QUERIES)) {
            program.ask("query abc");
            program.ask("work 10");
            write(STEPS + "jar = \"**\"\n");
            assertReloaded(program, "\"generation\":2,\"rules\":1,\"classes_changed\":1,");
            program.ask("work 20");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(20, trace().count(STEP));
    }

    /** The class of another loader still has the probe, until it is linked. */
    @EachJdk(oldestAndNewest = true)
    void aProbeIsListedUntilTheLastClassHasLostIt(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, STEPS + STEPS.replace("step", "fail"))) {
            program.ask("work 10");
            program.ask("twin load");
            assertTrue(methods(program).contains("fail"));
            write(STEPS);
            reload(program);
            program.ask("twin link");
            assertTrue(methods(program).contains("step") && !methods(program).contains("fail"), () -> methods(program));
            program.send("quit");
            assertQuiet(program.finish());
        }
    }

    private static String methods(Dialog program) {
        return ControlSocket.ask(program, "{\"ask\":\"methods\"}");
    }

    private static void assertReloaded(Dialog program, String expected) {
        String answer = reload(program);
        assertTrue(answer.contains(expected), answer);
    }

    private Dialog start(Jdk jdk, String rules) throws IOException {
        return Program.target(jdk, "targets.Conversation").with("-Xverify:all").talkWithAgent(config(rules), directory);
    }

    /** Live probes as by default, but none that the governor lowers: calls are counted. */
    private static AgentConfig config(String rules) {
        return AgentConfig.of(rules).ungoverned();
    }

    private void write(String rules) throws IOException {
        Files.writeString(directory.resolve("instr.toml"), config(rules).text());
    }

    private static String reload(Dialog program) {
        return ControlSocket.ask(program, "{\"ask\":\"reload\"}").trim();
    }

    /** Classes that were retransformed up to now. */
    private static long touched(Dialog program) {
        String status = ControlSocket.status(program);
        return (long) ControlSocket.number(status.substring(status.indexOf("\"retransforms\"")), "classes");
    }

    private static long analysed(Dialog program, String figure) {
        String status = ControlSocket.status(program);
        return (long) ControlSocket.number(status.substring(status.indexOf("\"analysis\"")), figure);
    }

    private Trace trace() {
        return Finished.in(directory).trace();
    }

    private static void assertQuiet(Finished run) {
        run.assertExitCode(0);
        assertEquals("", run.stderr());
    }
}
