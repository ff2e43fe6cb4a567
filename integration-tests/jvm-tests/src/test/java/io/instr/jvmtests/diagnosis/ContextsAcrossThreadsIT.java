package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
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
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Contexts that tasks take along to other threads, against what the program counts itself. */
class ContextsAcrossThreadsIT {

    private static final String WALK = "targets.diagnosis.HandedWalk";
    /** As {@code targets.diagnosis.HandedWalk} has them. */
    private static final List<String> CONTEXTS = List.of("a > b", "b", "a");
    private static final String WAYS = "execute,submit,caller,schedule,forkjoin,async,help,thread,subclass";
    private static final String ON_OTHER_THREADS = "execute,submit,schedule,thread,subclass";
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;

    private final Path directory = RunDirectories.create();

    /** However tasks are handed over: none is lost, and none is inside the context of another one. */
    @EachJdk
    void tasksTakeTheirContextsAlong(Jdk jdk) throws IOException {
        long[] counted = new long[CONTEXTS.size()];
        try (Dialog program = start(jdk, "")) {
            for (String context : CONTEXTS) {
                String made = probe(program, context, true);
                assertTrue(made.contains("\"methods\":1,") && made.contains("\"waiting\":[]"), made);
            }
            for (String way : WAYS.split(",")) {
                add(counted, program.ask("walk " + way + " 150"), 1);
            }
            add(counted, program.ask("walk " + WAYS + " 1000"), 1);
            if (jdk.feature() >= 21) {
                add(counted, program.ask("walk virtual 1000"), 1);
            }
            assertNobodyIsInside(program);
            for (int claim = 1; claim <= CONTEXTS.size(); claim++) {
                ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + claim + "}");
            }
            program.ask("walk " + WAYS + " 100");
            assertTrue(ControlSocket.status(program).contains("\"contexts\":0,\"free_steps\":243,\"threads\":0"), ControlSocket.status(program));
            assertNoExecutorIsChanged(program);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertRecorded(counted, " across threads");
    }

    /** Without the option a task is outside whatever its submitter is in; nothing of the JDK is changed. */
    @EachJdk(oldestAndNewest = true)
    void withoutTheOptionTasksBeginOutside(Jdk jdk) throws IOException {
        long[] counted = new long[CONTEXTS.size()];
        try (Dialog program = start(jdk, "")) {
            for (String context : CONTEXTS) {
                probe(program, context, false);
            }
            assertNoExecutorIsChanged(program);
            add(counted, program.ask("walk " + ON_OTHER_THREADS + " 1000"), 1 + CONTEXTS.size() + 1);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertRecorded(counted, "");
    }

    /** Both kinds of one context at the same time, from the configuration: each has its own. */
    @EachJdk(oldestAndNewest = true)
    void theConfigurationHasTheOptionForEachContext(Jdk jdk) throws IOException {
        long[] across = new long[CONTEXTS.size()];
        long[] within = new long[CONTEXTS.size()];
        String context = "[[context]]\nin = \"" + named("a > b") + "\"\nmethods = \"" + WALK + ".x\"\n";
        try (Dialog program = start(jdk, context + context + "across-threads = true\n")) {
            String answer = program.ask("walk " + ON_OTHER_THREADS + " 1000");
            add(across, answer, 1);
            add(within, answer, 1 + CONTEXTS.size() + 1);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Map<String, Long> expected = new TreeMap<>();
        expected.put("timed inside " + named("a > b"), within[0]);
        expected.put("timed inside " + named("a > b") + " across threads", across[0]);
        assertEquals(expected, byTemplate());
        assertTrue(within[0] < across[0], expected.toString());
    }

    /** Tasks wait while their context ends and its steps become those of another one: that is none of theirs. */
    @EachJdk(oldestAndNewest = true)
    void aTaskThatBeginsAfterItsContextHasEndedIsInsideNoOther(Jdk jdk) throws IOException {
        long[] counted = new long[CONTEXTS.size()];
        try (Dialog program = start(jdk, "")) {
            String made = probe(program, "a", true);
            assertEquals("held", program.ask("hold 100"));
            ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + (int) ControlSocket.number(made, "claim") + "}");
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"contexts\":0,\"free_steps\":243,\"threads\":0"), status);
            probe(program, "b", true);
            add(counted, program.ask("release"), 1);
            assertNobodyIsInside(program);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertEquals(Map.of("timed inside " + named("b") + " across threads", counted[1]), byTemplate());
    }

    /** A thread of a fork-join pool that waits runs other tasks on top of its own: these are not inside its context. */
    @EachJdk
    void aTaskThatAWaitingThreadRunsIsNotInsideTheContextOfThatThread(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "")) {
            probe(program, "a", true);
            assertEquals("inside 0 0 1 task 0 0 1", program.ask("help"));
            assertNobodyIsInside(program);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertEquals(Map.of("timed inside " + named("a") + " across threads", 1L), byTemplate());
    }

    /** A worker that was started for a task inside works for everybody afterwards. */
    @EachJdk(oldestAndNewest = true)
    void workersAreInsideOnlyWithTheirTasks(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "")) {
            probe(program, "a", true);
            assertEquals("inside 0 0 3 task 0 0 3", program.ask("workers"));
            assertNobodyIsInside(program);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertEquals(Map.of("timed inside " + named("a") + " across threads", 3L), byTemplate());
    }

    /** The claim ends while a task of its context runs: the methods that run it are restored after it has ended. */
    @EachJdk(oldestAndNewest = true)
    void whatRunsTasksIsRestoredWhenTheyHaveEnded(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "")) {
            String made = probe(program, "a", true);
            assertEquals("running", program.ask("run"));
            ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + (int) ControlSocket.number(made, "claim") + "}");
            assertTrue(ControlSocket.status(program).contains("\"threads\":1"), ControlSocket.status(program));
            program.ask("release");
            Awaiting.await(() -> ControlSocket.status(program), status -> status.contains("\"free_steps\":243,\"threads\":0"));
            Awaiting.await(() -> executor(program), explained -> !explained.contains("hand-over of contexts"));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void withoutAContextThereIsNothingToTakeAlong(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, "")) {
            String refused = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"" + WALK + ".x\",\"across_threads\":true}");
            assertTrue(refused.contains("no context that could reach across threads"), refused);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static String executor(Dialog program) {
        return ControlSocket.ask(program, "{\"ask\":\"explain\",\"class\":\"java.util.concurrent.ThreadPoolExecutor\"}");
    }

    private static void assertNoExecutorIsChanged(Dialog program) {
        String explained = executor(program);
        assertFalse(explained.contains("hand-over of contexts"), explained);
    }

    /** The last task may be ending. */
    private static void assertNobodyIsInside(Dialog program) {
        Awaiting.await(() -> ControlSocket.status(program), status -> status.contains("\"threads\":0,\"without_place\":0"));
    }

    private Dialog start(Jdk jdk, String contexts) throws IOException {
        // Whoever waits in the common pool helps there.
        Program program = Program.target(jdk, WALK).with("-Djava.util.concurrent.ForkJoinPool.common.parallelism=2");
        return program.talkWithAgent(AgentConfig.of(NO_RULE + contexts), directory);
    }

    private static String probe(Dialog program, String context, boolean acrossThreads) {
        return ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"" + WALK + ".x\",\"within\":\"" + named(context)
                + "\",\"across_threads\":" + acrossThreads + ",\"seconds\":600}");
    }

    private static String named(String context) {
        return context.replaceAll("(\\w+)", WALK + "\\$Piece.$1");
    }

    private static void add(long[] counted, String answer, int from) {
        String[] words = answer.split(" ");
        assertEquals("inside", words[0], answer);
        for (int i = 0; i < counted.length; i++) {
            counted[i] += Long.parseLong(words[from + i]);
        }
    }

    private void assertRecorded(long[] counted, String suffix) {
        Map<String, Long> expected = new TreeMap<>();
        for (int i = 0; i < CONTEXTS.size(); i++) {
            expected.put("timed inside " + named(CONTEXTS.get(i)) + suffix, counted[i]);
        }
        assertEquals(expected, byTemplate());
    }

    private Map<String, Long> byTemplate() {
        Map<String, Long> calls = new TreeMap<>();
        Finished.in(directory).trace().calls().forEach(call -> calls.merge(call.template(), 1L, Long::sum));
        return calls;
    }
}
