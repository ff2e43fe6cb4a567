package io.instr.jvmtests.hot;

import static io.instr.jvmtests.jvm.Awaiting.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.Set;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Tag;

/** {@code instr walk}: from where it walks up, how far, and which probes there are meanwhile. */
@Tag("timed")
class WalkSelectionIT {

    private static final double TOLERANCE = 0.02;
    private static final double SURER = 1.5;
    private static final String INSERTED = ": probe of a walk in ";
    private static final String REMOVED = " removed: ";

    @EachJdk(oldestAndNewest = true, having = "jdb")
    void twoHotMethodsHaveOneProbeInTheirCaller(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        LoadedBytes loaded = LoadedBytes.atFreePort();
        JsonNode found;
        try (Dialog program = TwoHotMethods.start(jdk, directory, loaded)) {
            Map<String, String> original = loaded.methods();
            long[] before = TwoHotMethods.truth(program);
            found = walk(program, "--top", "2", "--seconds", "4", "--share", "1", "--period", "800");
            long[] after = TwoHotMethods.truth(program);
            assertEquals(Set.of(TwoHotMethods.named("left"), TwoHotMethods.named("right")), texts(found.path("hot"), "method"));
            for (String hot : List.of("left", "right")) {
                assertTrue(found.path("end").asText().contains(TwoHotMethods.named(hot) + ": root: the threads begin there"), found::toString);
            }
            double both = after[0] - before[0];
            double one = after[1] - before[1];
            assertCallers(found, "left", Map.of("both", 1.0));
            assertCallers(found, "right", Map.of("both", both / (both + one), "one", one / (both + one)));
            List<JsonNode> ofBoth = levelsOf(found, "both");
            assertEquals(2, ofBoth.size(), "once above each hot method: " + found);
            for (String figure : List.of("calls", "time_ms")) {
                assertEquals(texts(ofBoth.get(0).path("callers"), figure), texts(ofBoth.get(1).path("callers"), figure), "it was measured for both together");
            }
            assertEquals(original, loaded.methods(), "the bytecode after a walk is the original one");
            TwoHotMethods.assertUnharmed(program);
        }
        Trace trace = Trace.read(directory.resolve("trace.jfr"));
        assertNeighbouringLevels(levels(found), trace);
        JsonNode walks = new ObjectMapper().readTree(Tool.instr(List.of("report", "--json", directory.resolve("trace.jfr").toString())).assertExitCode(0).stdout()).path("walks");
        IntSummaryStatistics gauge = new IntSummaryStatistics();
        walks.path(0).path("gauge").forEach(count -> gauge.accept(count.path("now").asInt()));
        assertEquals(4, gauge.getMax(), () -> "two hot methods and their two callers: " + walks);
        assertEquals(0, walks.path(0).path("gauge").path((int) gauge.getCount() - 1).path("now").asInt(-1), walks::toString);
    }

    /** Samples know nothing of a method that waits: a hook finds its callers, and theirs. */
    @EachJdk(oldestAndNewest = true)
    void callersThatSamplesHaveNotMetAreFoundByAHook(Jdk jdk) throws IOException {
        String waiting = "targets.hot.Waiting";
        try (Dialog program = Program.target(jdk, waiting).talkWithAgent(AgentConfig.of(""), RunDirectories.create())) {
            JsonNode found = walkAtOnce(program, "--method", waiting + ".receive", "--seconds", "1", "--period", "1500", "--levels", "2");
            assertTrue(found.path("notices").toString().contains("callers of " + waiting + ".receive() were found by a hook"), found::toString);
            assertCalls(found, waiting + ".receive()", Map.of(waiting + ".often()", 0.7, waiting + ".seldom()", 0.2, waiting + ".once()", 0.1));
            for (String caller : List.of("often", "seldom", "once")) {
                assertCalls(found, waiting + "." + caller + "()", Map.of(waiting + ".round()", 1.0));
            }
            assertTrue(!Tool.instr(List.of("claims", String.valueOf(program.pid()))).stdout().contains("walk"));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static void assertCalls(JsonNode found, String callee, Map<String, Double> shares) {
        Map<String, JsonNode> callers = new HashMap<>();
        found.path("levels").forEach(level -> {
            if (level.path("of").asText().equals(callee)) {
                level.path("callers").forEach(caller -> callers.put(caller.path("method").asText(), caller));
            }
        });
        assertEquals(shares.keySet(), callers.keySet(), found::toString);
        shares.forEach((caller, share) -> {
            JsonNode of = callers.get(caller);
            double tolerance = TOLERANCE + SURER * of.path("calls_margin").asDouble();
            assertEquals(share, of.path("calls_share").asDouble(-1), tolerance, of::toString);
        });
    }

    /** Threads are not above it: their class is the boundary. */
    @EachJdk(oldestAndNewest = true, having = "jdb")
    void aWalkEndsAtItsBoundary(Jdk jdk) throws IOException {
        try (Dialog program = TwoHotMethods.start(jdk, RunDirectories.create())) {
            JsonNode found = walk(program, "--method", TwoHotMethods.named("choose"), "--boundary", TwoHotMethods.CLASS + "$*", "--seconds", "1", "--period", "300");
            assertEquals(TwoHotMethods.named("choose") + ": boundary: " + TwoHotMethods.CLASS + "$Worker.work()", found.path("end").asText());
            assertEquals(Set.of(TwoHotMethods.named("choose"), TwoHotMethods.named("serve")), texts(found.path("levels"), "of"), "none above the boundary");
            TwoHotMethods.assertUnharmed(program);
        }
    }

    /** The JVM would keep each version of it. */
    @EachJdk(oldestAndNewest = true)
    void aClassWithNativeMethodsIsNotChanged(Jdk jdk) throws IOException {
        try (Dialog program = TwoHotMethods.start(jdk, RunDirectories.create(), AgentConfig.of(""))) {
            JsonNode found = walkAtOnce(program, "--method", "java.lang.ClassLoader.loadClass(String)", "--seconds", "1", "--period", "300");
            assertTrue(found.path("notices").toString().contains("its class has native methods"), found::toString);
            assertEquals(0, found.path("hooks").path("changes").asInt(-1), found::toString);
            TwoHotMethods.assertUnharmed(program);
        }
    }

    /** Hooks that are executed while a level is measured: N at most. */
    @EachJdk(oldestAndNewest = true, having = "jdb")
    void noMoreCallsAreRecordedThanWanted(Jdk jdk) throws IOException {
        int calls = 1000;
        int levels = 2;
        try (Dialog program = TwoHotMethods.start(jdk, RunDirectories.create())) {
            JsonNode found = walk(program, "--method", TwoHotMethods.named("right"), "--levels", String.valueOf(levels), "--calls", String.valueOf(calls), "--seconds", "1", "--period", "2000");
            long recorded = found.path("hooks").path("calls").asLong();
            assertTrue(recorded <= levels * calls, () -> recorded + " recorded calls: " + found);
            // The program calls the hot method more often than a thousand times a second.
            assertTrue(recorded > calls, () -> recorded + " recorded calls: " + found);
            assertEquals(1 + levels, found.path("levels").size(), found::toString);
            for (JsonNode level : found.path("levels")) {
                assertEquals("measured", level.path("source").asText(), found::toString);
            }
            TwoHotMethods.assertUnharmed(program);
        }
    }

    private static JsonNode walk(Dialog program, String... options) throws IOException {
        // Until the JIT has compiled most of it.
        await(() -> TwoHotMethods.truth(program), counted -> counted[0] > 20_000);
        return walkAtOnce(program, options);
    }

    private static JsonNode walkAtOnce(Dialog program, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of("walk", String.valueOf(program.pid()), "--json"));
        command.addAll(List.of(options));
        JsonNode found = new ObjectMapper().readTree(Tool.instr(command).assertExitCode(0).stdout());
        assertEquals(0, found.path("hooks").path("now").asInt(-1), found::toString);
        TwoHotMethods.assertNoProbeOfWalks(String.valueOf(program.pid()));
        return found;
    }

    private static void assertCallers(JsonNode found, String callee, Map<String, Double> shares) {
        List<JsonNode> levels = levelsOf(found, callee);
        assertEquals(1, levels.size(), found::toString);
        Map<String, JsonNode> callers = new HashMap<>();
        levels.get(0).path("callers").forEach(caller -> callers.put(caller.path("method").asText(), caller));
        shares.forEach((name, expected) -> {
            JsonNode caller = callers.remove(TwoHotMethods.named(name));
            assertTrue(caller != null && caller.path("calls_share").isNumber(), levels::toString);
            double tolerance = TOLERANCE + SURER * caller.path("calls_margin").asDouble();
            assertEquals(expected, caller.path("calls_share").asDouble(), tolerance, levels::toString);
        });
        assertTrue(callers.isEmpty(), () -> "others: " + callers.keySet());
    }

    private static List<JsonNode> levelsOf(JsonNode found, String callee) {
        List<JsonNode> levels = new ArrayList<>();
        found.path("levels").forEach(level -> levels.add(level));
        return levels.stream().filter(level -> level.path("of").asText().equals(TwoHotMethods.named(callee))).toList();
    }

    /** The level of each method: 0 for hot ones. */
    private static Map<String, Integer> levels(JsonNode found) {
        Map<String, Integer> levels = new HashMap<>();
        for (JsonNode level : found.path("levels")) {
            levels.put(level.path("of").asText(), level.path("level").asInt() - 1);
            level.path("callers").forEach(caller -> levels.putIfAbsent(caller.path("method").asText(), level.path("level").asInt()));
        }
        return levels;
    }

    /** Each method had one probe, once, and there were never probes of other levels than two neighbouring ones. */
    private static void assertNeighbouringLevels(Map<String, Integer> levels, Trace trace) {
        List<String> notes = trace.events("instr.Note").stream()
                .sorted(Comparator.comparing(RecordedEvent::getStartTime))
                .map(event -> event.getString("message"))
                .filter(message -> message.contains(INSERTED))
                .toList();
        Map<String, Integer> present = new HashMap<>();
        Set<String> inserted = new HashSet<>();
        for (String note : notes) {
            String[] said = note.substring(note.indexOf(INSERTED) + INSERTED.length()).split(REMOVED);
            if (said.length == 1) {
                assertTrue(inserted.add(said[0]), () -> said[0] + " had a probe twice: " + notes);
                present.put(said[0], levels.get(said[0]));
            } else {
                assertTrue(present.containsKey(said[0]), notes::toString);
                present.remove(said[0]);
            }
            IntSummaryStatistics of = present.values().stream().mapToInt(Integer::intValue).summaryStatistics();
            assertTrue(of.getCount() == 0 || of.getMax() - of.getMin() <= 1, () -> present + " at " + note + ": " + notes);
        }
        assertEquals(Map.of(), present);
        assertTrue(inserted.containsAll(TwoHotMethods.WITH_PROBES), inserted::toString);
    }

    private static Set<String> texts(JsonNode list, String key) {
        Set<String> texts = new HashSet<>();
        list.forEach(entry -> texts.add(entry.path(key).asText()));
        return texts;
    }
}
