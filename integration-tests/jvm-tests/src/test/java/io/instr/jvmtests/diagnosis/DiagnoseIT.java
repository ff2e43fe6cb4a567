package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.JvmProcess;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Tag;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

/** {@code instr diagnose} finds the slow branch of a program that knows it, and leaves nothing in the JVM, whatever ends it. */
@Tag("timed")
class DiagnoseIT {

    private static final String TARGET = "targets.diagnosis.SlowBranch";
    private static final String PAY = TARGET + ".pay";
    private static final String BROWSE = TARGET + ".browse";
    private static final String SERVICE = TARGET + "$Service.";
    private static final String[] SLOW = {"--slower-than", "15ms"};
    /** Such a call never comes: the diagnosis lasts until something ends it. */
    private static final String[] NEVER_SLOW = {"--slower-than", "3600s"};
    private static final List<String> SHARED_PATH = List.of("handle", "price", "discounts", "lookup", "slow");
    /** The program's names of the nodes on this path. */
    private static final List<String> SHARED_NODES = List.of("handle", "price", "discounts", "lookup", "way");
    private static final double LEAST_SHARE = 0.8;
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;

    /** How the path goes on in one way to be slow, and what the last node of the chain is. */
    private record Way(String name, List<String> further, Set<String> lastKinds, String lastText) {}

    private static final List<Way> WAYS = List.of(
            new Way("sleep", List.of("sleeping", "sleep"), Set.of("native", "waiting"), "sleep"),
            new Way("lock", List.of("waitingForTheLock", "enter"), Set.of("waiting"), "lock"),
            new Way("native", List.of("compressing", "deflate"), Set.of("native"), "deflateBytes"),
            new Way("busy", List.of("computing", "spin"), Set.of("own-code"), "spin"),
            new Way("executor", List.of("inExecutor", "get"), Set.of("waiting"), ".get("),
            new Way("park", List.of("parking", "parkNanos"), Set.of("native", "waiting"), "park"),
            new Way("reflection", List.of("byReflection", "work"), Set.of("native", "waiting"), "park"),
            new Way("lambda", List.of("inLambda", "forEach", "work"), Set.of("native", "waiting"), "park"),
            new Way("proxy", List.of("throughProxy", "work"), Set.of("native", "waiting"), "park"));

    private final Path directory = RunDirectories.create();

    /** All ways on the oldest and the newest version that have long-term support and are fully there; on the others those that differ by version. */
    @EachJdk
    void theSlowBranchIsFoundWhateverMakesItSlow(Jdk jdk) throws Exception {
        boolean hasAll = jdk.feature() == 17 || jdk.feature() >= 25;
        List<String> failures = new ArrayList<>();
        try (Running running = start(jdk)) {
            for (Way way : hasAll ? WAYS : WAYS.subList(0, 3)) {
                try {
                    assertFound(running.program, way);
                    running.assertNothingIsLeft();
                } catch (AssertionError failure) {
                    failures.add(way.name + ": " + failure.getMessage());
                }
            }
            running.quit();
        }
        assertTrue(failures.isEmpty(), () -> String.join("\n\n", failures));
        assertNothingElseIsRecorded("pay");
    }

    private static void assertFound(Dialog program, Way way) throws IOException {
        assertEquals("ok", program.ask("way " + way.name));
        JsonNode before = OwnTruth.ask(program);
        Diagnosed diagnosed = Diagnosed.of(program, PAY, SLOW[0], SLOW[1], "--depth", "16").assertQuickAndConclusive();
        OwnTruth truth = OwnTruth.since(before, "pay", program);
        truth.assertCounted(diagnosed);
        List<String> path = Stream.concat(SHARED_PATH.stream(), way.further.stream()).toList();
        List<Diagnosed.Step> steps = diagnosed.assertLeadsThrough(path, LEAST_SHARE);
        for (int i = 0; i < SHARED_NODES.size(); i++) {
            truth.assertMeasured(SHARED_NODES.get(i), diagnosed, steps.get(i));
        }
        Diagnosed.Step last = diagnosed.last();
        assertTrue(way.lastKinds.contains(last.kind()) && last.toString().contains(way.lastText), () -> "ends at " + last + ": " + diagnosed);
        JsonNode cost = diagnosed.json().path("cost");
        assertTrue(cost.path("classes").asInt() > 0 && cost.path("retransforms").asInt() > 0, cost::toString);
    }

    /** The thread of a diagnosis asks for loaded classes in the middle of its work, and goes on afterwards: it once had lost its JNI environment then. */
    @EachJdk
    void whatLooksIntoLoadedClassesLeavesTheProgramAlive(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            assertEquals("ok", running.program.ask("way execute"));
            for (int i = 0; i < 2; i++) {
                Diagnosed.of(running.program, "targets.diagnosis.SlowWays.slow", SLOW).assertLeadsThrough(List.of("executeOrder", "sleeping", "sleep"), LEAST_SHARE);
            }
            running.assertNothingIsLeft();
            running.quit();
        }
    }

    /** Measuring each of a hundred thousand calls of a nanosecond would make them the slow branch. */
    @EachJdk(oldestAndNewest = true)
    void measuringShortCallsDoesNotMakeThemTheSlowBranch(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            assertEquals("ok", running.program.ask("way counting"));
            Diagnosed diagnosed = Diagnosed.of(running.program, "targets.diagnosis.SlowWays.slow", SLOW).assertQuickAndConclusive();
            diagnosed.assertLeadsThrough(List.of("sleepingAndCounting", "sleeping", "sleep"), LEAST_SHARE);
            assertTrue(diagnosed.json().path("notices").toString().contains("calls of SlowWays.mix are too short"), diagnosed::toString);
            running.quit();
        }
    }

    /** The same service is slow in another branch in each of its two contexts. */
    @EachJdk(oldestAndNewest = true)
    void onlyCallsInsideTheContextCount(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            for (String root : List.of("pay", "browse")) {
                JsonNode before = OwnTruth.ask(running.program);
                Diagnosed diagnosed = Diagnosed.of(running.program, SERVICE + "handle", "--in", TARGET + "." + root, SLOW[0], SLOW[1]).assertQuickAndConclusive();
                OwnTruth.since(before, root, running.program).assertCounted(diagnosed);
                diagnosed.assertLeadsThrough(root.equals("pay") ? List.of("price", "discounts", "lookup") : List.of("suggest"), LEAST_SHARE);
                running.assertNothingIsLeft();
            }
            running.quit();
        }
        assertNothingElseIsRecorded("handle");
    }

    @EachJdk(oldestAndNewest = true)
    void twoDiagnosesAtOnceDoNotDisturbEachOther(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            Dialog program = running.program;
            CompletableFuture<Diagnosed> ofPrice = CompletableFuture.supplyAsync(() -> Diagnosed.of(program, SERVICE + "price", SLOW));
            Diagnosed.of(program, SERVICE + "suggest", SLOW).assertLeadsThrough(List.of("park"), LEAST_SHARE);
            ofPrice.join().assertLeadsThrough(List.of("discounts", "lookup", "slow"), LEAST_SHARE);
            running.assertNothingIsLeft();
            running.quit();
        }
    }

    /** Each of them sees only its own calls of the methods that both measure. */
    @EachJdk(oldestAndNewest = true)
    void twoDiagnosesAtOnceOfTheSameMethodsDoNotMixTheirTimes(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            JsonNode before = OwnTruth.ask(running.program);
            CompletableFuture<Diagnosed> ofPay = CompletableFuture.supplyAsync(() -> Diagnosed.of(running.program, PAY, SLOW));
            Diagnosed ofBrowse = Diagnosed.of(running.program, BROWSE, SLOW);
            ofBrowse.assertLeadsThrough(List.of("handle", "suggest"), LEAST_SHARE);
            ofPay.join().assertLeadsThrough(SHARED_PATH, LEAST_SHARE);
            OwnTruth.since(before, "browse", running.program).assertCounted(ofBrowse);
            OwnTruth.since(before, "pay", running.program).assertCounted(ofPay.join());
            running.assertNothingIsLeft();
            running.quit();
        }
    }

    /** A call can be measured for one diagnosis only; calls that are measured for one count wholly or not at all. */
    @EachJdk(oldestAndNewest = true)
    void twoDiagnosesOneWithinTheOtherDoNotMixTheirTimes(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            CompletableFuture<Diagnosed> ofHandle = CompletableFuture.supplyAsync(() -> Diagnosed.of(running.program, SERVICE + "handle", SLOW));
            Diagnosed.of(running.program, PAY, SLOW).assertLeadsThrough(SHARED_PATH, LEAST_SHARE);
            JsonNode found = ofHandle.join().json().path("tree").path("children");
            for (JsonNode child : found) {
                boolean isSlow = child.path("method").asText().matches(".*[.](price|suggest)\\(.*");
                assertTrue(isSlow || child.path("share").asDouble() < 0.2, () -> child + " in " + found);
            }
            running.assertNothingIsLeft();
            running.quit();
        }
    }

    @EachJdk(having = "jdb", oldestAndNewest = true)
    void aDiagnosisThatIsRemovedLeavesNothing(Jdk jdk) throws Exception {
        try (Running running = start(jdk); Client client = running.diagnoseUntilEnded()) {
            Tool.instr(List.of("remove", String.valueOf(running.program.pid()), String.valueOf(running.claim()))).assertExitCode(0);
            running.assertNothingIsLeft();
            assertNotEquals(0, client.exitCode(), "no answer was found");
            running.quit();
        }
    }

    @EachJdk(having = "jdb", oldestAndNewest = true)
    void aDiagnosisWhoseClientIsKilledLeavesNothing(Jdk jdk) throws Exception {
        try (Running running = start(jdk); Client client = running.diagnoseUntilEnded()) {
            client.kill("-KILL");
            running.awaitNothingIsLeft();
            running.quit();
        }
    }

    /** A client that is stopped is connected, and asks for nothing: the time limit is the agent's. */
    @EachJdk(having = "jdb", oldestAndNewest = true)
    void aDiagnosisWhoseClientIsStoppedEndsInTime(Jdk jdk) throws Exception {
        try (Running running = start(jdk); Client client = running.diagnoseUntilEnded("--for", "4s")) {
            client.kill("-STOP");
            running.awaitNothingIsLeft();
            client.kill("-CONT");
            assertEquals(3, client.exitCode());
            running.quit();
        }
    }

    @EachJdk(oldestAndNewest = true)
    void whatCannotBeDiagnosedHasAReason(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            Finished unknown = Diagnosed.run(running.program, TARGET + ".pey", SLOW).assertExitCode(1);
            assertTrue(unknown.stderr().contains("has no method pey") && unknown.stderr().contains("did you mean `" + PAY + "`?"), unknown.stderr());
            Finished neverCalled = Diagnosed.run(running.program, TARGET + ".refund", "--slower-than", "15ms", "--for", "3s").assertExitCode(3);
            String said = neverCalled.stdout() + neverCalled.stderr();
            assertTrue(said.contains("refund") && said.contains("call"), said);
            Finished neverSlow = Diagnosed.run(running.program, PAY, NEVER_SLOW[0], NEVER_SLOW[1], "--for", "3s").assertExitCode(3);
            assertTrue((neverSlow.stdout() + neverSlow.stderr()).contains("slow"), neverSlow::toString);
            running.assertNothingIsLeft();
            running.quit();
        }
    }

    @EachJdk(oldestAndNewest = true)
    void howFarItGoesCanBeLimited(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            Diagnosed twoLevels = Diagnosed.of(running.program, PAY, "--slower-than", "15ms", "--depth", "2");
            List<Diagnosed.Step> steps = twoLevels.assertLeadsThrough(SHARED_PATH.subList(0, 2), LEAST_SHARE);
            String within = steps.get(1).json().path("within").asText();
            assertEquals(PAY + " > " + SERVICE + "handle", within, "the methods that were executing");
            assertTrue(twoLevels.chain().stream().noneMatch(step -> step.name().equals("discounts")), twoLevels::toString);
            running.assertNothingIsLeft();
            assertCallsAreRecordedWithin(running.program, SERVICE + "price", within);
            Finished reported = Diagnosed.run(running.program, PAY, "--slower-than", "15ms", "--report-only").assertExitCode(0);
            JsonNode json = new ObjectMapper().readTree(reported.stdout());
            assertTrue(json.path("slow").asLong() > 0 && json.path("cost").path("classes").asLong() == 1, reported.stdout());
            json.path("tree").path("children").forEach(child -> assertTrue(child.path("children").isEmpty(), () -> "nothing is measured below its calls: " + child));
            running.assertNothingIsLeft();
            running.quit();
        }
    }

    /** A diagnosis proposes the context with which a probe records what it has found. */
    private static void assertCallsAreRecordedWithin(Dialog program, String method, String within) {
        Tool.instr(List.of("probe", String.valueOf(program.pid()), method, "--in", within, "--calls", "1")).assertExitCode(0);
        Awaiting.await(() -> Tool.instr(List.of("claims", String.valueOf(program.pid()))).stdout(), claims -> !claims.contains(within));
    }

    /** Of a method without slow calls, without a limit: the largest share of the time of all calls is followed, and none is called slow or recorded as that. */
    @EachJdk(oldestAndNewest = true)
    void withoutALimitAllCallsOfAHealthyMethodCount(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            assertEquals("ok", running.program.ask("way sleep"));
            Diagnosed healthy = Diagnosed.of(running.program, "targets.diagnosis.SlowWays.slow");
            healthy.assertLeadsThrough(List.of("sleeping", "sleep"), LEAST_SHARE);
            JsonNode json = healthy.json();
            String sentence = json.path("sentence").asText();
            assertTrue(sentence.contains(" of the time of SlowWays.slow is ") && sentence.endsWith(" (all calls: no limit was given)"), sentence);
            assertTrue(!sentence.contains("slow calls") && json.path("notices").toString().contains("no limit was given"), healthy::toString);
            assertEquals(List.of("0.0", "false"), List.of(json.path("slower_than_ms").asText(), json.path("learnt").asText()));
            assertTrue(json.path("calls").asLong() >= 20 && json.path("slow").asLong() == json.path("calls").asLong(), healthy::toString);
            running.assertNothingIsLeft();
            running.quit();
        }
        assertEquals(List.of(), Finished.in(directory).trace().events("instr.SlowCall"));
        String report = Tool.instr(List.of("report", directory.resolve("trace.jfr").toString())).assertExitCode(0).stdout();
        assertTrue(report.contains(" calls count: no limit was given") && !report.contains("slow calls"), report);
    }

    /** A limit that is not on the command line is that of the configuration, or else learnt, if there are slow calls. */
    @EachJdk(oldestAndNewest = true)
    void aLimitIsThatOfTheConfigurationOrLearnt(Jdk jdk) throws Exception {
        String configured = "[[slow-calls]]\nmethods = \"" + PAY + "\"\nslower-than = \"15 ms\"\n";
        try (Dialog program = Program.target(jdk, TARGET).talkWithAgent(AgentConfig.of(NO_RULE + configured), directory)) {
            Diagnosed stated = Diagnosed.of(program, PAY).assertQuickAndConclusive();
            stated.assertLeadsThrough(SHARED_PATH, LEAST_SHARE);
            assertEquals(List.of("15.0", "false"), List.of(stated.json().path("slower_than_ms").asText(), stated.json().path("learnt").asText()));
            assertTrue(stated.json().path("notices").toString().contains("the limit is that of [[slow-calls]] for " + PAY), stated::toString);
            Diagnosed learnt = Diagnosed.of(program, BROWSE);
            learnt.assertLeadsThrough(List.of("handle", "suggest"), LEAST_SHARE);
            assertTrue(learnt.json().path("learnt").asBoolean() && learnt.json().path("slower_than_ms").asDouble() < 30, learnt::toString);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** Methods of a framework between those of the application are named, not measured; if they do something themselves, they are measured after all. */
    @EachJdk(oldestAndNewest = true)
    void aLongWayIsMeasuredWhereItMatters(Jdk jdk) throws Exception {
        try (Dialog program = Program.target(jdk, "targets.diagnosis.LongWay").talkWithAgent(AgentConfig.of(NO_RULE), directory)) {
            Diagnosed direct = Diagnosed.of(program, "targets.diagnosis.LongWay.serve", SLOW).assertQuickAndConclusive();
            List<Diagnosed.Step> steps = direct.assertLeadsThrough(List.of("lambda$serve$0", "find", "read"), LEAST_SHARE);
            assertTrue(steps.get(0).json().path("via").size() >= 9, direct::toString);
            assertTrue(direct.json().path("cost").path("classes").asInt() <= 3, () -> "the framework's class is not changed: " + direct);
            assertTrue(direct.json().path("sentence").asText().contains("... -> "), direct::toString);

            assertEquals("ok", program.ask("between"));
            Diagnosed both = Diagnosed.of(program, "targets.diagnosis.LongWay.serve", SLOW);
            String sentence = both.json().path("sentence").asText();
            assertTrue(both.json().path("explained").asDouble() >= LEAST_SHARE && sentence.contains("Chain.five -> ") && sentence.contains("LongWay.read"), both::toString);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** What a component calls, those first that it calls most often, whether they have probes or not, and whatever they explain. */
    @EachJdk(oldestAndNewest = true)
    void whatADispatcherCallsMostOftenIsListedFirst(Jdk jdk) throws Exception {
        try (Dialog program = Program.target(jdk, "targets.diagnosis.Dispatcher").talkWithAgent(AgentConfig.of(NO_RULE), directory)) {
            Diagnosed found = Diagnosed.of(program, "targets.diagnosis.Dispatcher.dispatch", SLOW[0], SLOW[1], "--depth", "1", "--order", "calls");
            List<String> called = new ArrayList<>();
            for (JsonNode callee : found.json().path("tree").path("children")) {
                Diagnosed.Step step = Diagnosed.Step.of(callee);
                called.add(step.name() + " " + Math.round(callee.path("per_call").asDouble() * 10) / 10.0);
            }
            // Calls that are too short to be timed have a number if it was known before that was decided.
            boolean isFirst = called.get(0).startsWith("always");
            double shortCalls = found.json().path("tree").path("children").path(0).path("per_call").asDouble();
            assertTrue(!isFirst || Math.abs(shortCalls / 20_000 - 1) < 0.1, found::toString);
            assertEquals(List.of("often 40.0", "handle 5.0", "rarely 1.0"), called.subList(isFirst ? 1 : 0, isFirst ? 4 : 3), found::toString);
            found.assertLeadsThrough(List.of("rarely"), LEAST_SHARE);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** Nothing is measured while all probes are paused, nor after the agent has been detached; the client's exit code is that of a diagnosis without a result. */
    @EachJdk(oldestAndNewest = true)
    void aPauseAndADetachmentEndIt(Jdk jdk) throws Exception {
        try (Running running = start(jdk)) {
            String pid = String.valueOf(running.program.pid());
            try (Client client = running.diagnoseUntilClaimed()) {
                Tool.instr(List.of("pause", pid)).assertExitCode(0);
                assertEquals(3, client.exitCode());
            }
            Finished refused = Diagnosed.run(running.program, PAY, SLOW).assertExitCode(1);
            assertTrue(refused.stderr().contains("paused"), refused::stderr);
            Tool.instr(List.of("resume", pid)).assertExitCode(0);
            try (Client client = running.diagnoseUntilClaimed()) {
                Tool.instr(List.of("detach", pid)).assertExitCode(0);
                assertEquals(3, client.exitCode());
            }
            running.quit();
        }
    }

    /** Fast calls have no record; how many slow ones had none in a second that had too many, the diagnosis says. */
    @EachJdk(oldestAndNewest = true)
    void eachSlowCallHasARecordOfItsOwn(Jdk jdk) throws Exception {
        Diagnosed diagnosed;
        try (Running running = start(jdk)) {
            assertEquals("ok", running.program.ask("way park"));
            diagnosed = Diagnosed.of(running.program, SERVICE + "handle", "--in", PAY, SLOW[0], SLOW[1]);
            running.assertNothingIsLeft();
            running.quit();
        }
        List<RecordedEvent> slow = Finished.in(directory).trace().events("instr.SlowCall");
        long leftOut = 0;
        for (JsonNode notice : diagnosed.json().path("notices")) {
            Matcher counted = Pattern.compile("([\\d,]+) slow calls? counted, but not recorded").matcher(notice.asText());
            leftOut += counted.find() ? Long.parseLong(counted.group(1).replace(",", "")) : 0;
        }
        long counted = diagnosed.json().path("slow").asLong();
        assertTrue(!slow.isEmpty() && slow.size() + leftOut >= counted, slow.size() + " records and " + leftOut + " left out of " + counted);
        for (RecordedEvent call : slow) {
            assertTrue(call.getString("method").startsWith(SERVICE + "handle(") && call.getString("context").equals(PAY), call::toString);
            assertTrue(call.getDuration().toMillis() >= 15 && call.getDuration().toSeconds() < 10, call::toString);
            assertTrue(call.getString("threadName").startsWith("calls-") && call.getThread("eventThread").getJavaName().equals(call.getString("threadName")), call::toString);
        }
        // The last ones were measured as far as the descent has come.
        RecordedEvent last = slow.get(slow.size() - 1);
        List<String> path = last.getString("path").lines().toList();
        String steps = path.stream().map(line -> line.replaceAll(".*[.](\\w+)\\(.*", "$1")).collect(Collectors.joining(" "));
        assertTrue(steps.startsWith("price discounts lookup slow"), last::toString);
        double before = last.getDuration().toNanos() / 1e6;
        for (String line : path) {
            double millis = Double.parseDouble(line.substring(0, line.indexOf(' ')));
            assertTrue(millis <= before + 0.1 && millis > 10, () -> line + " in " + last);
            before = millis;
        }
        String file = directory.resolve("trace.jfr").toString();
        JsonNode reported = new ObjectMapper().readTree(Tool.instr(List.of("report", "--json", file)).stdout()).path("diagnoses").get(0);
        assertEquals(slow.size(), reported.path("recorded_slow_calls").asInt());
        // Of those that were measured far enough down.
        List<RecordedEvent> shown = slow.stream().filter(call -> call.getString("path").lines().count() * 2 >= longestPath(slow)).toList();
        long longest = shown.stream().mapToLong(call -> call.getDuration().toNanos()).max().orElseThrow();
        assertEquals(longest / 1e6, reported.at("/slow_calls/0/ms").asDouble(), 0.01);
        assertEquals("calls-", reported.at("/slow_calls/0/thread").asText().substring(0, 6));
        String report = Tool.instr(List.of("report", file)).assertExitCode(0).stdout().replaceAll("\\s+", " ");
        assertTrue(report.contains(slow.size() + " slow calls recorded one by one, the slowest that show where their time went:"), report);
    }

    private static long longestPath(List<RecordedEvent> calls) {
        return calls.stream().mapToLong(call -> call.getString("path").lines().count()).max().orElseThrow();
    }

    /** Its result is a part of the recording, for every reader of JFR, and reports show it from the file alone; also one that the end of the recording has ended. */
    @EachJdk(having = "jfr", oldestAndNewest = true)
    void theResultIsInTheRecordingAndInItsReports(Jdk jdk) throws Exception {
        Diagnosed diagnosed;
        try (Running running = start(jdk)) {
            assertEquals("ok", running.program.ask("way lock"));
            diagnosed = Diagnosed.of(running.program, PAY, SLOW);
            try (Client client = new Client(Diagnosed.start(running.program, BROWSE, NEVER_SLOW))) {
                Awaiting.await(running::claimOfAnybody, claim -> claim != null);
                String question = "{\"ask\":\"diagnosis\",\"claim\":" + running.claim() + "}";
                Awaiting.await(() -> ControlSocket.ask(running.program, question), answer -> answer.contains("\"waiting\""));
                Tool.instr(List.of("stop", String.valueOf(running.program.pid()))).assertExitCode(0);
                assertEquals(3, client.exitCode());
            }
            running.quit();
        }
        JsonNode json = diagnosed.json();
        String sentence = json.path("sentence").asText();
        String file = directory.resolve("trace.jfr").toString();
        Finished printed = Tool.run(jdk, "jfr", List.of("print", "--events", "instr.Diagnosis", file)).assertExitCode(0);
        assertTrue(printed.stdout().contains("\"" + sentence + "\""), printed::toString);
        assertEquals("", printed.stderr());

        assertEquals(2, JfrLoaderToolkit.loadEvents(new File(file)).apply(ItemFilters.type("instr.Diagnosis")).stream().mapToLong(IItemIterable::getItemCount).sum(), "for Mission Control");
        List<RecordedEvent> results = Finished.in(directory).trace().events("instr.Diagnosis");
        assertEquals(List.of("done", "ended"), results.stream().map(event -> event.getString("state")).toList());
        assertEquals("the recording has ended", results.get(1).getString("reason"));
        RecordedEvent result = results.get(0);
        assertEquals(List.of(json.path("calls").asLong(), json.path("slow").asLong()), List.of(result.getLong("calls"), result.getLong("slow")));
        assertEquals(Duration.ofMillis(15), result.getDuration("slowerThan"));
        List<RecordedEvent> nodes = Finished.in(directory).trace().events("instr.DiagnosisNode").stream()
                .filter(node -> node.getLong("claim") == result.getLong("claim"))
                .toList();
        assertEquals(result.getLong("nodes"), nodes.size());
        assertEquals(json.at("/tree/slow_ms").asDouble(), nodes.get(0).getDuration("slowTime").toNanos() / 1e6, 0.001);

        String report = Tool.instr(List.of("report", file)).assertExitCode(0).stdout().replaceAll("\\s+", " ");
        assertTrue(report.contains(" Diagnoses " + sentence + " Diagnosis of " + PAY), report);
        JsonNode reported = new ObjectMapper().readTree(Tool.instr(List.of("report", "--json", file)).stdout()).path("diagnoses");
        assertEquals(2, reported.size());
        List<String> names = Diagnosed.of(reported.get(0).toString(), Duration.ZERO).chain().stream().map(Diagnosed.Step::method).toList();
        assertEquals(diagnosed.chain().stream().map(Diagnosed.Step::method).toList(), names);
        // Fractions have been read as text once more: their last bit may differ.
        List<String> others = List.of("ended_after_ms", "explained", "tree", "recorded_slow_calls", "slow_calls");
        assertEquals(json.<ObjectNode>deepCopy().without(others), reported.get(0).<ObjectNode>deepCopy().without(others), "what the command had printed");
    }

    /** Of the program's methods at most the one that is diagnosed has calls in the recording. */
    private void assertNothingElseIsRecorded(String diagnosed) {
        Set<String> recorded = Finished.in(directory).trace().counts().keySet();
        assertTrue(recorded.stream().allMatch(name -> name.endsWith("." + diagnosed)), recorded::toString);
    }

    private Running start(Jdk jdk) throws Exception {
        AgentConfig config = AgentConfig.of(NO_RULE);
        Program target = Program.target(jdk, TARGET);
        if (!jdk.has("jdb")) {
            Dialog program = target.talkWithAgent(config, directory);
            return new Running(program, null, Map.of());
        }
        String file = config.writeTo(directory).getFileName().toString();
        LoadedBytes loaded = LoadedBytes.atFreePort();
        Dialog program = target.with(loaded.option()).talk(List.of(Program.agentOption(file)), directory);
        assertEquals("ready", program.next());
        return new Running(program, loaded, loaded.methods());
    }

    /** The program, and its bytecode before any diagnosis if the JDK can show it. */
    private record Running(Dialog program, LoadedBytes loaded, Map<String, String> original) implements AutoCloseable {

        /** Starts a diagnosis for which no call is slow, and returns when its probes are there. */
        private Client diagnoseUntilEnded(String... options) throws IOException {
            Client client = new Client(Diagnosed.start(program, PAY, Stream.of(NEVER_SLOW, options).flatMap(Stream::of).toArray(String[]::new)));
            Awaiting.await(loaded::methods, methods -> !methods.equals(original) || !client.process.isAlive());
            assertTrue(client.process.isAlive(), "the diagnosis has ended at once");
            return client;
        }

        /** Starts a diagnosis for which no call is slow, and returns when it has a claim. */
        private Client diagnoseUntilClaimed() throws IOException {
            Client client = new Client(Diagnosed.start(program, PAY, NEVER_SLOW));
            Awaiting.await(this::claimOfAnybody, claim -> claim != null || !client.process.isAlive());
            return client;
        }

        private int claim() {
            JsonNode claim = claimOfAnybody();
            assertTrue(claim != null, "no claim");
            return claim.get("id").asInt();
        }

        /** Only what is no rule's has a number. */
        private JsonNode claimOfAnybody() {
            try {
                JsonNode claims = new ObjectMapper().readTree(ControlSocket.ask(program, "{\"ask\":\"claims\"}")).get("claims");
                for (JsonNode claim : claims) {
                    if (claim.path("id").isNumber()) {
                        return claim;
                    }
                }
                return null;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private void assertNothingIsLeft() {
            assertEquals(null, claimOfAnybody());
            String methods = ControlSocket.ask(program, "{\"ask\":\"methods\"}");
            assertTrue(!methods.contains("SlowBranch") && !methods.contains("SlowWays"), methods);
            if (loaded != null) {
                assertEquals(original, loaded.methods(), "every body is the program's own again");
            }
        }

        private void awaitNothingIsLeft() {
            Awaiting.await(this::claimOfAnybody, claim -> claim == null);
            Awaiting.await(loaded::methods, original::equals);
            assertNothingIsLeft();
        }

        private void quit() {
            program.send("quit");
            program.finish().assertExitCode(0);
        }

        @Override
        public void close() {
            program.close();
        }
    }

    /** An {@code instr diagnose} that runs beside the test. */
    private record Client(Process process) implements AutoCloseable {

        private void kill(String signal) throws Exception {
            assertEquals(0, new ProcessBuilder("kill", signal, String.valueOf(process.pid())).start().waitFor());
        }

        private int exitCode() throws Exception {
            assertTrue(process.waitFor(JvmProcess.LIMIT.toSeconds(), TimeUnit.SECONDS), "the client has not ended");
            return process.exitValue();
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }
}
