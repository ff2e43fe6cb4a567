package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
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
import java.nio.file.Path;
import java.util.List;
import java.util.Set;

/** Probes that a person asks for while the program runs: inserted, listed, ended. */
class ClaimsIT {

    private static final String STEP = "targets.Conversation.step";
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;
    private static final String OFF_RULE = """
            [[rule]]
            class = "targets.Conversation"
            method = "step"
            level = "off"
            """;
    private static final String LIVE = """
            [control]
            live = true
            [governor]
            enabled = false
            """;

    private final Path directory = RunDirectories.create();

    @EachJdk
    void aMethodThatNoRuleTakesHasAProbeUntilTheClaimIsRemoved(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            String original = program.ask("position");
            program.ask("work 100");
            assertProbed("{\"claim\":1,\"methods\":1,\"classes\":1,", probe(program, STEP, "\"seconds\":600"));
            assertProbed("{\"claim\":2,\"methods\":1,\"classes\":1,", probe(program, "targets.Conversation.position", "\"seconds\":600"));
            assertNotEquals(original, program.ask("position"));
            program.ask("work 70");
            ControlSocket.awaitCalls(program, 71);
            String claims = ControlSocket.ask(program, "{\"ask\":\"claims\"}");
            assertTrue(claims.contains("\"owner\":\"rules\",\"role\":\"probe\",\"class\":\"other.**\""), claims);
            assertTrue(claims.contains("\"id\":1,\"owner\":\"user\",\"role\":\"probe\",\"class\":\"targets.Conversation\",\"method\":\"step\",\"level\":\"time\",\"state\":\"active\""), claims);
            assertEquals("{\"claim\":2,\"methods\":1}", remove(program, 2));
            assertEquals(original, program.ask("position"), "its own bytecode");
            program.ask("work 30");
            assertEquals("{\"claim\":1,\"methods\":1}", remove(program, 1));
            program.ask("work 1000");
            assertTrue(remove(program, 1).contains("there is no claim 1"));
            program.send("quit");
            assertQuiet(program.finish());
        }
        Trace trace = trace();
        assertEquals(100, trace.count(STEP), "between the request and the removal");
    }

    /** The claim ends by its number of calls; the rule's probe of another method of the class stays. */
    @EachJdk(oldestAndNewest = true)
    void aClaimEndsByItsCallsAndLeavesWhatTheRulesWant(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, """
                [[rule]]
                class = "targets.Conversation"
                method = "query"
                level = "time"
                """)) {
            probe(program, "targets.Conversation.*", "\"calls\":50");
            program.ask("work 60");
            ControlSocket.await(program, status -> status.contains("removed: its calls have been recorded"));
            program.ask("work 1000");
            program.ask("query abc");
            program.send("quit");
            assertQuiet(program.finish());
        }
        Trace trace = trace();
        assertEquals(60, trace.count(STEP));
        assertEquals(1, trace.count("targets.Conversation.query"), "what a rule wants is still there");
    }

    /** Two claims on one method: the higher level counts, and each ends for itself; with the last one the rule's level is back. */
    @EachJdk(oldestAndNewest = true)
    void noClaimRemovesAnothers(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, OFF_RULE)) {
            program.ask("work 10");
            probe(program, STEP, "\"level\":\"time\"");
            probe(program, "targets.Conversation.st*", "\"level\":\"full\"");
            program.ask("work 20");
            remove(program, 2);
            program.ask("work 30");
            remove(program, 1);
            program.ask("work 40");
            program.send("quit");
            assertQuiet(program.finish());
        }
        Trace trace = trace();
        assertEquals(50, trace.count(STEP));
        List<String> changes = trace.events("instr.Claim").stream().map(event -> event.getString("owner") + " " + event.getString("to")).toList();
        assertTrue(changes.contains("user full"), "a report can tell which calls were at which level: " + changes);
    }

    /** Claims that want the same level, and one that wants a lower one: each ends for itself, whatever the others want. */
    @EachJdk(oldestAndNewest = true)
    void anEqualClaimAndALowerOneLeaveTheOthers(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            probe(program, STEP, "\"level\":\"time\"");
            probe(program, STEP, "\"level\":\"time\"");
            probe(program, STEP, "\"level\":\"watch\"");
            program.ask("work 10");
            assertEquals("{\"claim\":1,\"methods\":0}", remove(program, 1), "the probe is still wanted");
            program.ask("work 20");
            remove(program, 3);
            program.ask("work 30");
            assertEquals("{\"claim\":2,\"methods\":1}", remove(program, 2));
            program.ask("work 40");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(60, trace().count(STEP));
    }

    @EachJdk(oldestAndNewest = true)
    void whatInstrLevelHasSetStaysWhenAClaimEnds(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, LIVE + OFF_RULE)) {
            program.ask("work 10");
            ControlSocket.ask(program, "{\"ask\":\"level\",\"methods\":\"" + STEP + "\",\"level\":\"time\"}");
            program.ask("work 20");
            probe(program, STEP, "\"level\":\"watch\"");
            program.ask("work 30");
            remove(program, 2);
            program.ask("work 40");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(90, trace().count(STEP), "the person's level before, beside and after the claim");
    }

    /** Who sets a level learns which claims want another one, and the other way round; with the end of the claim on levels the others are in force. */
    @EachJdk(oldestAndNewest = true)
    void offByAPersonOnAMethodThatOthersClaimHasItsReason(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            probe(program, STEP, "\"seconds\":600");
            String off = ControlSocket.ask(program, "{\"ask\":\"level\",\"methods\":\"" + STEP + "\",\"level\":\"off\"}");
            assertTrue(off.contains("\"overruled\":[\"claim 1 (" + STEP + " at level time): 1 method is at level off because of claim 2\"]"), off);
            program.ask("work 10");
            assertTrue(ControlSocket.ask(program, "{\"ask\":\"claims\"}").contains("1 method; 1 method is at level off because of claim 2"));
            String later = probe(program, STEP, "\"level\":\"full\"");
            assertTrue(later.contains("\"overruled\":\"1 method is at level off because of claim 2\""), later);
            remove(program, 2);
            remove(program, 3);
            String lower = probe(program, STEP, "\"level\":\"off\"");
            assertTrue(lower.contains("\"overruled\":\"1 method is at level time because of claim 1\""), lower);
            program.ask("work 20");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(20, trace().count(STEP));
    }

    /** Calls count for a claim from its beginning on, at any level. */
    @EachJdk(oldestAndNewest = true)
    void aClaimCountsItsOwnCalls(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            for (int claim = 1; claim <= 2; claim++) {
                String ended = "claim " + claim + ": 1 probe of " + STEP + " removed: its calls have been recorded";
                probe(program, STEP, "\"calls\":50,\"level\":\"full\"");
                program.ask("work 20");
                String hits = "\"id\":" + claim + ",\"owner\":\"user\"";
                String listed = ControlSocket.awaitAnswer(program, "{\"ask\":\"claims\"}", claims -> claims.contains("\"hits\":20"));
                assertTrue(listed.contains(hits), listed);
                program.ask("work 40");
                ControlSocket.await(program, status -> status.contains(ended));
            }
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(120, trace().count(STEP));
    }

    /** The probe is there: to set its level takes no retransformation. */
    @EachJdk(oldestAndNewest = true)
    void aClaimOnAMethodThatHasItsProbeRetransformsNothing(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, LIVE + OFF_RULE)) {
            program.ask("work 10");
            long touched = touched(program);
            assertProbed("{\"claim\":1,\"methods\":1,\"classes\":0,", probe(program, STEP, "\"level\":\"time\""));
            program.ask("work 20");
            assertEquals("{\"claim\":1,\"methods\":0}", remove(program, 1), "the rule wants the probe");
            assertEquals(touched, touched(program));
            program.ask("work 30");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(20, trace().count(STEP));
    }

    /** What a rule wants without a level of its own cannot be changed while it runs; with the claim it is live, and there is one probe. */
    @EachJdk(oldestAndNewest = true)
    void aClaimOnAMethodWithAProbeOfAFixedLevelDecidesAboutItsLevel(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, """
                [[rule]]
                class = "targets.Conversation"
                method = "query"
                """)) {
            program.ask("query abc");
            probe(program, "targets.Conversation.query", "\"level\":\"time\"");
            for (int i = 0; i < 7; i++) {
                program.ask("query abc");
            }
            ControlSocket.awaitCalls(program, 7);
            probe(program, "targets.Conversation.query", "\"level\":\"off\"");
            remove(program, 1);
            program.ask("query abc");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(Set.of("targets.Conversation.query"), trace().counts().keySet(), "nothing of the agent's own");
        List<Trace.Call> calls = trace().callsOf("targets.Conversation.query");
        assertEquals(7, calls.stream().filter(Trace.Call::exact).count(), () -> "one record for each call: " + calls);
        assertTrue(calls.stream().filter(call -> !call.exact()).count() <= 1, () -> "only what the rule recorded before: " + calls);
    }

    /** A template that a rule wants and the method cannot have does not keep out the probe of a person. */
    @EachJdk(oldestAndNewest = true)
    void aRuleThatCannotBeAppliedLeavesTheClaim(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            probe(program, "targets.Conversation.position", "\"seconds\":600");
            program.ask("position");
            // Its template records an argument that the method does not have.
            config("[[rule]]\nclass = \"targets.Conversation\"\nmethod = \"position\"\ntemplate = \"category:database\"\n").writeTo(directory);
            String reloaded = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            assertTrue(reloaded.contains("\"generation\":2"), reloaded);
            program.ask("position");
            assertTrue(ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"targets.Conversation.nobody\"}")
                    .contains("class targets.Conversation has no method nobody"));
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(2, trace().count("targets.Conversation.position"));
        assertTrue(trace().events("instr.Claim").stream().anyMatch(event -> event.getString("from").equals("removed")), "no probe before");
    }

    /** A wrapper is possible only while a class is loaded: what a rule wants in one does not keep out what a person wants. */
    @EachJdk(oldestAndNewest = true)
    void aRuleForAWrapperThatComesTooLateLeavesTheClaim(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            program.ask("work 10");
            probe(program, STEP, "\"seconds\":600");
            program.ask("work 20");
            config("[[rule]]\nclass = \"targets.Conversation\"\nmethod = \"step\"\nmode = \"wrapper\"\n").writeTo(directory);
            String reloaded = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            assertTrue(reloaded.contains("\"generation\":2"), reloaded);
            program.ask("work 30");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(50, trace().count(STEP));
    }

    /** What a claim wants and the new file excludes is not inserted any more, and is removed where it is. */
    @EachJdk(oldestAndNewest = true)
    void aReloadThatExcludesAClassEndsWhatClaimsWantOfIt(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            String original = program.ask("position");
            probe(program, "targets.Conversation.*", "\"seconds\":600");
            program.ask("work 20");
            assertNotEquals(original, program.ask("position"));
            config(NO_RULE + "[exclude]\nclass = \"targets.Conversation\"\n").writeTo(directory);
            String reloaded = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            assertTrue(reloaded.contains("\"generation\":2,\"rules\":1,\"classes_changed\":1"), reloaded);
            program.ask("work 30");
            assertEquals(original, program.ask("position"), "its own bytecode");
            config(NO_RULE).writeTo(directory);
            reloaded = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            assertTrue(reloaded.contains("\"generation\":3,\"rules\":1,\"classes_changed\":1"), reloaded);
            program.ask("work 40");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(60, trace().count(STEP));
    }

    private static long touched(Dialog program) {
        String status = ControlSocket.status(program);
        return (long) ControlSocket.number(status.substring(status.indexOf("\"retransforms\"")), "classes");
    }

    @EachJdk(oldestAndNewest = true)
    void aClassThatIsLoadedLaterGetsItsProbeThen(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            assertProbed("{\"claim\":1,\"methods\":0,\"classes\":0,", probe(program, "targets.Durations.measure", "\"calls\":10"));
            program.ask("busy 20");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(1, trace().count("targets.Durations.measure"));
    }

    @EachJdk(oldestAndNewest = true)
    void whatCannotBeHasItsReason(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE + "[exclude]\nclass = \"targets.Twin\"\n")) {
            assertTrue(probe(program, "java.**", "\"level\":\"time\"").contains("are allowed: name fewer, or allow more with `--most "));
            assertTrue(probe(program, STEP, "\"template\":\"timd\"").contains("timd"));
            assertTrue(probe(program, "nonsense", "\"calls\":1").contains("names no class"));
            assertTrue(probe(program, "a..b.c", "\"calls\":1").contains("error"));
            assertTrue(probe(program, "targets.Nobody.act", "\"calls\":1").contains("\"methods\":0,\"classes\":0"));
            program.send("quit");
            assertQuiet(program.finish());
        }
    }

    private static AgentConfig config(String rules) {
        String text = AgentConfig.of("").text();
        AgentConfig config = rules.contains("[exclude]")
                ? new AgentConfig("instr.toml", text.substring(0, text.indexOf("[exclude]")) + rules)
                : AgentConfig.of(rules);
        return rules.contains("[governor]") ? config : config.ungoverned();
    }

    private Dialog start(Jdk jdk, String rules) throws IOException {
        return Program.target(jdk, "targets.Conversation").with("-Xverify:all").talkWithAgent(config(rules), directory);
    }

    /** Nothing waits or is refused, and the end is stated. */
    private static void assertProbed(String begin, String answer) {
        assertTrue(answer.startsWith(begin + "\"waiting\":[],\"refused\":[],\"expires\":\"a"), answer);
    }

    private static String probe(Dialog program, String methods, String more) {
        return ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"" + methods + "\"," + more + "}").trim();
    }

    private static String remove(Dialog program, int claim) {
        return ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + claim + "}").trim();
    }

    private Trace trace() {
        return Finished.in(directory).trace();
    }

    private static void assertQuiet(Finished run) {
        run.assertExitCode(0);
        assertEquals("", run.stderr());
    }
}
