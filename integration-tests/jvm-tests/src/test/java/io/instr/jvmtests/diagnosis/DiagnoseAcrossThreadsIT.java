package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Tag;

/** A diagnosis goes on in tasks that a pool runs: one tree, one sentence. */
@Tag("timed")
class DiagnoseAcrossThreadsIT {

    private static final String TARGET = "targets.diagnosis.PooledBranch";
    private static final double LEAST_SHARE = 0.8;
    private static final double MOST_DIFFERENCE = 0.05;
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;

    private final Path directory = RunDirectories.create();

    /** One kind of task is slow in some calls, the other never is. */
    @EachJdk(having = "jdb", oldestAndNewest = true)
    void aSlowCallOverAPoolIsOneTree(Jdk jdk) throws Exception {
        LoadedBytes loaded = LoadedBytes.atFreePort();
        LoadedBytes executors = loaded.ofClasses("java.util.concurrent.ThreadPoolExecutor");
        try (Dialog program = start(jdk, loaded.option())) {
            Map<String, String> original = loaded.methods();
            Map<String, String> ofJdk = executors.methods();
            Diagnosed diagnosed = Diagnosed.of(program, TARGET + ".serve", "--slower-than", "20ms", "--across-threads").assertQuickAndConclusive();
            List<Diagnosed.Step> steps = diagnosed.assertLeadsThrough(List.of("collect", "get", "call", "of", "lookup", "park"), LEAST_SHARE);
            assertEquals("runs on another thread", steps.get(2).reason(), diagnosed::toString);
            String sentence = diagnosed.json().path("sentence").asText();
            assertTrue(sentence.contains("Future.get -> (another thread) -> PooledBranch$Price.call -> PooledBranch$Price.of -> PooledBranch$Price.lookup"), sentence);
            assertMeasured(program.ask("lookups"), diagnosed, steps.get(4));
            double waited = diagnosed.millisInSlowCall(steps.get(1));
            double inTask = diagnosed.millisInSlowCall(steps.get(2));
            assertTrue(inTask <= waited && inTask >= waited * (1 - MOST_DIFFERENCE), () -> inTask + " ms of " + waited + " ms: " + diagnosed);
            assertNothingIsLeft(program);
            assertEquals(original, loaded.methods(), "every body is the program's own again");
            assertEquals(ofJdk, executors.methods(), "and those of executors are the JDK's");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aStageOfACompletableFutureIsFollowed(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk)) {
            Diagnosed diagnosed = Diagnosed.of(program, TARGET + ".serveStages", "--slower-than", "20ms", "--across-threads").assertQuickAndConclusive();
            List<Diagnosed.Step> steps = diagnosed.assertLeadsThrough(List.of("join", "of", "lookup", "park"), LEAST_SHARE);
            assertMeasured(program.ask("stages"), diagnosed, steps.get(2));
            assertNothingIsLeft(program);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aThreadThatTheCallStartsIsFollowed(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk)) {
            Diagnosed diagnosed = Diagnosed.of(program, TARGET + ".serveThread", "--slower-than", "20ms", "--across-threads").assertQuickAndConclusive();
            List<Diagnosed.Step> steps = diagnosed.assertLeadsThrough(List.of("join", "of", "lookup", "park"), LEAST_SHARE);
            assertMeasured(program.ask("threads"), diagnosed, steps.get(2));
            assertNothingIsLeft(program);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** That threads end is learnt from an event: threads that have ended take no part in the time, and keep no place. */
    @EachJdk(having = "jcmd")
    void threadsAreFollowedByAnAgentThatWasAttached(Jdk jdk) throws Exception {
        try (Dialog program = Program.target(jdk, TARGET).talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            Attachment.attach(jdk, program, Attachment.prepare(directory, "attached", AgentConfig.of(NO_RULE)));
            for (int time = 0; time < 2; time++) {
                Diagnosed diagnosed = Diagnosed.of(program, TARGET + ".serveThread", "--slower-than", "20ms", "--across-threads").assertQuickAndConclusive();
                List<Diagnosed.Step> steps = diagnosed.assertLeadsThrough(List.of("join", "of", "lookup", "park"), LEAST_SHARE);
                assertMeasured(program.ask("threads"), diagnosed, steps.get(2));
                assertTrue(!diagnosed.json().path("notices").toString().contains("too many threads"), diagnosed::toString);
            }
            assertNothingIsLeft(program);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** Without the option it ends where the call waits, and no class of the JDK is changed. */
    @EachJdk(oldestAndNewest = true)
    void withoutTheOptionItEndsWhereTheCallWaits(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk)) {
            Diagnosed diagnosed = Diagnosed.of(program, TARGET + ".serve", "--slower-than", "20ms").assertQuickAndConclusive();
            diagnosed.assertLeadsThrough(List.of("collect", "get"), LEAST_SHARE);
            assertTrue(diagnosed.last().method().contains("Future.get") && diagnosed.last().reason().contains("another thread"), diagnosed::toString);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** The last figures are those of some slow calls one after the other; how many lookups there were since, nobody knows. */
    private static void assertMeasured(String lookups, Diagnosed diagnosed, Diagnosed.Step step) {
        double[] own = Arrays.stream(lookups.trim().split(" +")).mapToDouble(Double::parseDouble).toArray();
        double measured = diagnosed.millisInSlowCall(step);
        int calls = Math.min(diagnosed.json().at("/tree/slow_calls").asInt(), own.length);
        double mean = IntStream.rangeClosed(0, own.length - calls)
                .mapToDouble(first -> Arrays.stream(own, first, first + calls).average().orElseThrow() / 1e6)
                .boxed()
                .min(Comparator.comparingDouble(of -> Math.abs(of - measured)))
                .orElseThrow();
        assertTrue(Math.abs(measured - mean) <= MOST_DIFFERENCE * mean,
                () -> "%.3f ms measured, %.3f ms by the program itself: %s".formatted(measured, mean, diagnosed));
    }

    private void assertNothingIsLeft(Dialog program) {
        for (String type : List.of(TARGET, TARGET + "$Price", "java.util.concurrent.ThreadPoolExecutor", "java.util.concurrent.ForkJoinTask", "java.lang.Thread")) {
            String question = "{\"ask\":\"explain\",\"class\":\"" + type + "\"}";
            Awaiting.await(() -> ControlSocket.ask(program, question), answer -> !answer.contains("hand-over") && !answer.contains("call sites"));
        }
        String methods = ControlSocket.ask(program, "{\"ask\":\"methods\"}");
        assertTrue(!methods.contains("PooledBranch"), methods);
    }

    private Dialog start(Jdk jdk, String... options) throws IOException {
        return Program.target(jdk, TARGET).with(options).talkWithAgent(AgentConfig.of(NO_RULE), directory);
    }
}
