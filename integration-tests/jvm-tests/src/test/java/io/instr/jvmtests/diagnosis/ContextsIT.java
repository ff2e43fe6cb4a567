package io.instr.jvmtests.diagnosis;

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
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Probes that record only while other methods are executing, against what the program counts itself: the same suite for each place where it may be kept what
 * threads are executing.
 */
class ContextsIT {

    private static final String WALK = "targets.diagnosis.ContextWalk.";
    /** As {@code targets.diagnosis.ContextWalk} has them. */
    private static final List<String> CONTEXTS = List.of("a > b", "b > a", "a > b > c", "a > a", "c");
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;

    /** {@code [contexts]} of the configuration. */
    String place() {
        return "";
    }

    int overflows() {
        return 300;
    }

    private final Path directory = RunDirectories.create();

    @EachJdk
    void callsAreRecordedInsideTheirContextsAndNowhereElse(Jdk jdk) throws IOException {
        List<Long> counted = new ArrayList<>();
        try (Dialog program = start(jdk)) {
            String before = program.ask("walk 2 200");
            assertTrue(before.startsWith("inside "), before);
            for (String context : CONTEXTS) {
                String made = probe(program, "x", context, "\"seconds\":600");
                assertTrue(made.contains("\"methods\":1,") && !made.contains("\"methods\":0}"), made);
            }
            add(counted, program.ask("walk 4 2000"));
            if (jdk.feature() >= 21) {
                add(counted, program.ask("virtual 10000 10"));
            }
            String status = ControlSocket.status(program);
            String explained = ControlSocket.ask(program, "{\"ask\":\"explain\",\"class\":\"targets.diagnosis.ContextWalk\"}");
            assertTrue(explained.contains("timed inside " + named("a > b")) && explained.contains("anchor of " + named("a > b")), explained);
            assertTrue(status.contains("\"contexts\":{\"contexts\":5,") && status.contains("\"threads\":0,\"without_place\":0}"), status);
            for (int claim = 1; claim <= CONTEXTS.size(); claim++) {
                ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + claim + "}");
            }
            program.ask("walk 2 500");
            assertTrue(ControlSocket.status(program).contains("\"contexts\":0,\"free_steps\":243,\"threads\":0"), ControlSocket.status(program));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Map<String, Long> expected = new TreeMap<>();
        for (int i = 0; i < CONTEXTS.size(); i++) {
            expected.put("timed inside " + named(CONTEXTS.get(i)), counted.get(i));
        }
        assertEquals(expected, byTemplate());
    }

    /**
     * Contexts are armed and disarmed while threads are inside: what is recorded for each are the calls inside it while it was armed, but for those of the few walks
     * that were under way at either end.
     */
    @EachJdk(oldestAndNewest = true)
    void contextsChangeWhileThreadsAreInside(Jdk jdk) throws IOException {
        Map<String, long[]> bounds = new TreeMap<>();
        try (Dialog program = start(jdk)) {
            assertEquals("walking", program.ask("background 4"));
            for (int i = 0; i < CONTEXTS.size(); i++) {
                long before = inside(program, i);
                String made = probe(program, "x", CONTEXTS.get(i), "\"seconds\":600");
                assertTrue(made.contains("\"waiting\":[]"), made);
                long armed = insideAfterWalks(program, i, 100);
                long last = insideAfterWalks(program, i, 500);
                ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + (int) ControlSocket.number(made, "claim") + "}");
                bounds.put("timed inside " + named(CONTEXTS.get(i)), new long[] {last - armed, inside(program, i) - before});
            }
            program.ask("rest");
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"contexts\":0,\"free_steps\":243,\"threads\":0,\"without_place\":0"), status);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Map<String, Long> recorded = byTemplate();
        bounds.forEach((template, of) -> {
            long calls = recorded.getOrDefault(template, 0L);
            assertTrue(of[0] > 0 && calls >= of[0] && calls <= of[1], template + ": " + calls + " of " + of[0] + " to " + of[1]);
        });
    }

    private static long inside(Dialog program, int context) {
        return Long.parseLong(program.ask("counts").split(" ")[context + 1]);
    }

    /** Returns how many calls were inside a context when so many walks more have ended. */
    private static long insideAfterWalks(Dialog program, int context, int walks) {
        long wanted = walks(program.ask("counts")) + walks;
        String counts = Awaiting.await(() -> program.ask("counts"), answer -> walks(answer) >= wanted);
        return Long.parseLong(counts.split(" ")[context + 1]);
    }

    private static long walks(String counts) {
        return Long.parseLong(counts.substring(counts.lastIndexOf(' ') + 1));
    }

    /** Whatever the stack has no room for: afterwards no thread is inside a context. */
    @EachJdk(oldestAndNewest = true)
    void overflowsOfTheStackLeaveNobodyInside(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            probe(program, "y", "downA > downB", "\"seconds\":600");
            probe(program, "x", "downA", "\"seconds\":600");
            assertEquals("overflows " + overflows(), program.ask("overflow " + overflows()));
            program.ask("x");
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"threads\":0,"), status);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Map<String, Long> recorded = byTemplate();
        assertEquals(0L, recorded.getOrDefault("timed inside " + named("downA"), 0L), "outside: " + recorded);
        assertTrue(recorded.getOrDefault("timed inside " + named("downA > downB"), 0L) > 0, recorded.toString());
    }

    /**
     * With {@code direct} only what the last method of the context calls itself, in whatever way: also by reflection, a method handle, a lambda, a bridge, in a frame that
     * is older than the bytecode, and if its body is in a method of another name.
     */
    @EachJdk
    void onlyDirectCallsAreRecorded(Jdk jdk) throws IOException {
        String direct = "targets.diagnosis.DirectCalls";
        String wrapper = "[[rule]]\nclass = \"" + direct + "\"\nmethod = \"b\"\nmode = \"wrapper\"\n";
        String configured = "[[context]]\nin = \"" + direct + ".b\"\nmethods = \"" + direct + ".x\"\ndirect = true\n";
        for (String rule : List.of(NO_RULE, wrapper)) {
            Path run = RunDirectories.create();
            String counted;
            try (Dialog program = Program.target(jdk, direct).talkWithAgent(AgentConfig.of(rule + configured).ungoverned(), run)) {
                program.ask("run 1");
                String made = ControlSocket.ask(program, directly(direct + ".x", direct + ".a > " + direct + ".b"));
                assertTrue(made.contains("\"direct\":true") && made.contains("\"methods\":1,"), made);
                ControlSocket.ask(program, request(direct + ".x", direct + ".a > " + direct + ".b", "\"seconds\":600"));
                ControlSocket.ask(program, directly(direct + "$Named.run", direct + ".named"));
                String before = program.ask("run 0");
                program.ask("run 100");
                program.ask("hold");
                // The class gets other bodies while the method executes that calls.
                String changed = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"" + direct + ".b\",\"seconds\":600}");
                assertTrue(changed.contains("\"methods\":1"), changed);
                counted = program.ask("release");
                if (jdk.feature() >= 21) {
                    counted = program.ask("virtual 1000");
                }
                program.ask("named 50");
                String claims = ControlSocket.ask(program, "{\"ask\":\"claims\"}");
                assertTrue(claims.contains("inside " + direct + ".b (direct)"), claims);
                counted = before + " " + counted;
                program.send("quit");
                program.finish().assertExitCode(0);
            }
            String[] words = counted.split(" ");
            Map<String, Long> expected = new TreeMap<>();
            String inA = "timed inside " + direct + ".a > " + direct + ".b";
            expected.put(inA + " (direct)", Long.parseLong(words[6]) - Long.parseLong(words[1]));
            expected.put("timed inside " + direct + ".b (direct)", Long.parseLong(words[7]));
            expected.put(inA, Long.parseLong(words[9]) - Long.parseLong(words[4]));
            expected.put("timed inside " + direct + ".named (direct)", 50L);
            Map<String, Long> recorded = byTemplate(run);
            recorded.remove("timed");
            assertEquals(expected, recorded, rule);
        }
    }

    private static String directly(String methods, String context) {
        return request(methods, context, "\"direct\":true,\"seconds\":600");
    }

    /** Contexts of the configuration file are there from the first call, and a reload replaces them. */
    @EachJdk(oldestAndNewest = true)
    void contextsOfTheConfigurationAreReplacedByAReload(Jdk jdk) throws IOException {
        long[] counted = new long[3];
        try (Dialog program = start(jdk, configured("a > b") + configured("c"))) {
            count(counted, program.ask("walk 2 300"));
            String claims = ControlSocket.ask(program, "{\"ask\":\"claims\"}");
            assertTrue(claims.contains("\"owner\":\"rules\",\"role\":\"conditional\",\"class\":\"targets.diagnosis.ContextWalk\",\"method\":\"x\""), claims);
            assertTrue(ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":1}").contains("is a [[context]] of the configuration file"));
            count(counted, program.ask("walk 2 300"), counted.clone());
            AgentConfig.of(NO_RULE + configured("c") + configured("b > a") + place()).writeTo(directory);
            String reloaded = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
            assertTrue(reloaded.contains("\"generation\":2"), reloaded);
            long[] after = new long[3];
            count(after, program.ask("walk 2 400"));
            counted[1] += after[1];
            counted[2] = after[2];
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"contexts\":{\"contexts\":2,\"free_steps\":240,\"threads\":0"), status);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Map<String, Long> expected = new TreeMap<>();
        expected.put("timed inside " + named("a > b"), counted[0]);
        expected.put("timed inside " + named("c"), counted[1]);
        expected.put("timed inside " + named("b > a"), counted[2]);
        assertEquals(expected, byTemplate());
    }

    private static String configured(String context) {
        return "[[context]]\nin = \"" + named(context) + "\"\nmethods = \"" + WALK + "x\"\n";
    }

    /** Counts of the contexts {@code a > b}, {@code c} and {@code b > a}. */
    private static void count(long[] counted, String answer) {
        count(counted, answer, new long[3]);
    }

    private static void count(long[] counted, String answer, long[] before) {
        String[] words = answer.split(" ");
        counted[0] = before[0] + Long.parseLong(words[1]);
        counted[1] = before[1] + Long.parseLong(words[5]);
        counted[2] = before[2] + Long.parseLong(words[2]);
    }

    @EachJdk(oldestAndNewest = true)
    void whatIsWrongWithAContextIsAnswered(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            assertTrue(probe(program, "x", "a > ", "\"calls\":1").contains("write methods with `>` between them"));
            assertTrue(probe(program, "x", "nothing", "\"calls\":1").contains("has no method nothing"));
            String later = ControlSocket.ask(program, request(WALK + "x", "later.Class.method", "\"seconds\":600"));
            assertTrue(later.contains("\"within\":[{\"method\":\"later.Class.method\",\"methods\":0}]"), later);
            String ofNative = ControlSocket.ask(program, request(WALK + "x", "java.lang.Object.hashCode", "\"seconds\":600"));
            assertTrue(ofNative.contains("\"methods\":0}]"), "a native method has no anchor: " + ofNative);
            String full = "";
            for (int i = 0; i < 40 && !full.contains("there is no room"); i++) {
                full = ControlSocket.ask(program, request(WALK + "x", ("c" + i + ".A.m > ").repeat(15) + "c.A.m", "\"seconds\":600"));
            }
            assertTrue(full.contains("there is no room for a context of 16 methods"), full);
            String claims = ControlSocket.ask(program, "{\"ask\":\"claims\"}");
            assertTrue(claims.contains("\"role\":\"conditional\"") && claims.contains("\"role\":\"anchor\",\"class\":\"later.Class\""), claims);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    final Dialog start(Jdk jdk) throws IOException {
        return start(jdk, "");
    }

    private Dialog start(Jdk jdk, String contexts) throws IOException {
        AgentConfig config = AgentConfig.of(NO_RULE + contexts + place());
        return Program.target(jdk, "targets.diagnosis.ContextWalk").talkWithAgent(config, directory);
    }

    private static String probe(Dialog program, String method, String context, String limits) {
        return ControlSocket.ask(program, request(WALK + method, named(context), limits));
    }

    private static String request(String methods, String context, String limits) {
        return "{\"ask\":\"probe\",\"methods\":\"" + methods + "\",\"within\":\"" + context + "\"," + limits + "}";
    }

    private static String named(String context) {
        return context.contains(".") ? context : context.replaceAll("(\\w+)", WALK + "$1");
    }

    private static void add(List<Long> counted, String answer) {
        String[] words = answer.split(" ");
        assertEquals("inside", words[0], answer);
        for (int i = 0; i < CONTEXTS.size(); i++) {
            long count = Long.parseLong(words[i + 1]);
            if (i < counted.size()) {
                counted.set(i, counted.get(i) + count);
            } else {
                counted.add(count);
            }
        }
    }

    private Map<String, Long> byTemplate() {
        return byTemplate(directory);
    }

    private static Map<String, Long> byTemplate(Path directory) {
        Map<String, Long> calls = new TreeMap<>();
        Finished.in(directory).trace().calls().forEach(call -> calls.merge(call.template(), 1L, Long::sum));
        return calls;
    }
}
