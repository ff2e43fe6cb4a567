package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Trace;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedMethod;

/** A rule chooses arguments and results, and the recording has them as they were passed. */
class ArgumentsIT {

    private static final String PASSING = "targets.Passing";
    /** What the slow call of {@code mostlyFast} takes. */
    private static final long SLOW_NANOS = 60_000_000;
    private static final String EVERYTHING = "arguments = [\"this\", \"all\"]\nresult = true\n";

    private static final List<String> EVERY_KIND = List.of(
            "flag=true, small=-128, letter=\"\\\"\", number=300, count=-2147483648, id=-9223372036854775808, part=1.5, share=-0.1,"
                    + " text=\"a \\\"b\\\"\\n\\\\, c=1\", return=-9223372036854775808",
            "flag=false, small=0, letter=\"ß\", number=0, count=0, id=10000000000, part=NaN, share=1.0E300, text=\"\","
                    + " return=10000000000",
            "flag=false, small=1, letter=\"\\u0000\", number=-1, count=1, id=9, part=0.0, share=0.0, text=\"" + "x".repeat(100)
                    + "\"…, return=9");

    @EachJdk
    void everyLevelOfEveryModeRecordsWhatWasPassed(Jdk jdk) {
        String[] ways = {
            "level = \"time\"\n", "level = \"full\"\n", "level = \"time\"\nmode = \"wrapper\"\n", "level = \"time\"\n[control]\nlive = true\n[governor]\nenabled = false\n",
        };
        for (String way : ways) {
            Trace trace = run(jdk, EVERYTHING + "constructors = true\n" + way).trace();
            assertEquals(EVERY_KIND, values(trace, "everyKind"), way);
            assertEquals(
                    List.of("why=\"because\", length=3, throw=java.lang.IllegalArgumentException"), values(trace, "fails"), way);
            assertEquals(
                    List.of("n=1, return=1", "n=2, return=2", "n=3, return=6", "n=4, return=24"), values(trace, "factorial"), way);
            List<String> objects = values(trace, "objects");
            String known = "first=7, colour=GREEN, key=01234567-89ab-cdef-ffff-ffffffffffff, type=[I.class, rows=int[2][]@";
            assertTrue(objects.get(0).startsWith(known), objects::toString);
            assertTrue(objects.get(0).contains(", names=java.lang.String[0]@") && objects.get(0).endsWith(", last=null, return=7"));
            assertEquals("first=null, colour=null, key=null, type=null, rows=null, names=null, last=null, return=null", objects.get(1));
            assertTrue(values(trace, "describe").get(0).matches("item=targets\\.Passing\\$Item@[0-9a-f]+, depth=0, return=\"apple0\""));
            // A constructor has no wrapper.
            List<String> constructed = way.contains("wrapper") ? List.of() : List.of("name=\"apple\", weight=3", "name=null, weight=0");
            assertEquals(constructed, values(trace, "<init>"), way);
            assertThreadsHaveTheirOwn(trace);
            assertEachHasItsCall(trace);
        }
    }

    @EachJdk
    void theSlowOneOfManyFastCallsShowsItsValue(Jdk jdk) {
        for (String way : new String[] {"", "[control]\nlive = true\n"}) {
            // On a busy machine a tick may be later than the slow call is long.
            Trace trace = Awaiting.await(() -> run(jdk, "level = \"watch\"\n" + EVERYTHING + way).trace(),
                    watched -> watched.longestTick() < SLOW_NANOS);
            Map<String, Long> durations = new HashMap<>();
            for (RecordedEvent event : trace.events("instr.CallArguments")) {
                if (((RecordedMethod) event.getValue("method")).getName().equals("mostlyFast")) {
                    durations.put(event.getString("arguments"), event.getDuration().toNanos());
                }
            }
            Long slow = durations.remove("value=31415, text=\"the slow one\"");
            assertTrue(slow != null && slow >= SLOW_NANOS - trace.longestTick(), () -> way + slow + durations);
            assertTrue(durations.keySet().stream().allMatch(text -> text.endsWith(", text=\"a fast one\"")), durations::toString);
            assertTrue(durations.size() < 20_000, "short calls are not recorded: " + durations.size());
            assertEachHasItsCall(trace);
        }
    }

    @EachJdk
    void textsAreAskedForOnlyIfTheRuleSaysSo(Jdk jdk) {
        String rule = "level = \"time\"\narguments = [\"this\", 0]\nargument-length = 6\n";
        assertFalse(run(jdk, rule).stdout().contains("asked for"), "no code of the application");

        Finished asking = Program.target(jdk, PASSING).with("-Xverify:all").withAgent(config(rule + "render = \"to-string\"\n"));
        asking.assertExitCode(0);
        assertTrue(asking.stdout().contains("asked for apple"), asking::stdout);
        Trace trace = asking.trace();
        List<String> described = values(trace, "describe");
        assertEquals("item=\"Item a\"…", described.get(0), "cut, and without those of the texts within");
        assertTrue(described.get(1).endsWith("(toString() threw java.lang.IllegalStateException)"), described::toString);
        assertEquals(2, described.size(), described::toString);
        // The texts call `describe` and `label`, too: recorded, but without values.
        assertTrue(trace.count(PASSING + ".describe") > 2, () -> trace.counts().toString());
        assertEquals(asking.stats().figure("records"), trace.calls().size());
    }

    /** Missing arguments are reported; the rest is captured. */
    @EachJdk
    void namesAndNumbersChooseArguments(Jdk jdk) {
        AgentConfig config = config("level = \"time\"\narguments = [\"text\", 5, \"nobody\", 200, \"this\"]\n");
        Finished run = Program.target(jdk, PASSING).withAgent(config).assertExitCode(0);
        assertTrue(run.stderr().startsWith("instr: warning: rule rule-1 (instr.toml:16): none of its 12 methods has a parameter `nobody`; "
                + "they have count, first, flag, "), run::stderr);
        assertEquals(1, run.stderr().lines().count(), "the others are there");
        Trace trace = run.trace();
        assertEquals("text=\"a \\\"b\\\"\\n\\\\, c=1\", id=-9223372036854775808", values(trace, "everyKind").get(0));
        assertEquals(List.of(), values(trace, "factorial"), "it has none of them");
        assertEquals(4, trace.count(PASSING + ".factorial"));
    }

    private static Finished run(Jdk jdk, String ofRule) {
        Program program = Program.target(jdk, PASSING).with("-Xverify:all");
        Finished run = program.withAgent(config(ofRule));
        run.assertBehavesLike(program.withoutAgent());
        return run;
    }

    private static AgentConfig config(String ofRule) {
        AgentConfig config = AgentConfig.of("[[rule]]\nclass = [\"targets.Passing\", \"targets.Passing$Item\"]\n"
                + "method = [\"*\", \"!main\"]\n" + ofRule);
        return ofRule.contains("[control]") || ofRule.contains("watch") ? config : config.ungoverned();
    }

    private static List<String> values(Trace trace, String method) {
        return trace.events("instr.CallArguments").stream()
                .filter(event -> ((RecordedMethod) event.getValue("method")).getName().equals(method))
                .map(event -> event.getString("arguments"))
                .toList();
    }

    private static void assertThreadsHaveTheirOwn(Trace trace) {
        Map<String, List<String>> byThread = new HashMap<>();
        for (RecordedEvent event : trace.events("instr.CallArguments")) {
            if (((RecordedMethod) event.getValue("method")).getName().equals("named")) {
                byThread.computeIfAbsent(event.getThread().getJavaName(), name -> new ArrayList<>()).add(event.getString("arguments"));
            }
        }
        for (String name : List.of("left", "right")) {
            List<String> expected =
                    IntStream.range(0, 500).mapToObj(call -> "thread=\"" + name + "\", call=" + call).toList();
            assertEquals(expected, byThread.get(name));
        }
    }

    /** Asserts that every event with values has its call. */
    private static void assertEachHasItsCall(Trace trace) {
        Map<String, Integer> calls = new HashMap<>();
        for (Trace.Call call : trace.calls()) {
            calls.merge(call.threadId() + " " + call.method() + " " + call.start() + " " + call.duration(), 1, Integer::sum);
        }
        for (RecordedEvent event : trace.events("instr.CallArguments")) {
            String key = event.getThread().getJavaThreadId() + " " + ((RecordedMethod) event.getValue("method")).getName() + " "
                    + Trace.nanos(event.getStartTime()) + " " + event.getDuration().toNanos();
            int left = calls.merge(key, -1, Integer::sum);
            assertTrue(left >= 0, key);
        }
    }
}
