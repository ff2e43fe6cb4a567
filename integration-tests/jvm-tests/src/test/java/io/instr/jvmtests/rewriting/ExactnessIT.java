package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Trace.Call;
import io.instr.jvmtests.jvm.Trace;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;

/** Does the trace hold what happened: a million calls in four threads, with recursion, one in ten ended by an exception? */
class ExactnessIT {

    private static final String WORK = "targets.Exactness$Work";
    private static final long CALLS = 1_000_000;
    private static final int CALLS_PER_UNIT = 10;
    /** Constructors of {@code Work}, called in the main thread. */
    private static final long CONSTRUCTORS = 4;
    /** Of the length of a tick of the processor's counter, see {@link ClockIT}. */
    private static final double CLOCK_ERROR = 20e-6;

    @EachJdk
    void everyCallIsOneEventInItsPlace(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Exactness").compare(AgentConfig.timed(WORK).ungoverned());
        Trace trace = run.trace();

        Map<String, Long> own = run.ownCounts();
        assertEquals(CALLS, own.values().stream().mapToLong(Long::longValue).sum(), "the program's own count");
        assertEquals(0, run.stats().lost(), "a million records fit into the default buffer");
        own.put(WORK + ".<init>", CONSTRUCTORS);
        assertEquals(own, trace.counts());
        assertEquals(CALLS + CONSTRUCTORS, run.stats().figure("records"));
        assertTrue(trace.calls().stream().allMatch(Call::exact), "level time is exact");

        List<List<Call>> threads = trace.callsByThread().values().stream()
                .filter(calls -> calls.get(0).threadName().startsWith("exact-"))
                .toList();
        assertEquals(4, threads.size(), "threads");
        for (List<Call> thread : threads) {
            assertEquals(CALLS / 4, thread.size());
            assertNested(thread);
        }
    }

    @EachJdk
    void whatDoesNotFitIsCounted(Jdk jdk) {
        AgentConfig tiny = AgentConfig.of("buffer-mb = 1", "", """
                [[rule]]
                class = "%s"
                level = "time"
                """.formatted(WORK)).ungoverned();
        Finished run = Program.target(jdk, "targets.Exactness").compare(tiny);
        long events = run.trace().calls().size();
        assertEquals(CALLS, events + run.stats().lost(), events + " events");
        long reported = run.trace().events("instr.Loss").stream().mapToLong(loss -> loss.getLong("lost")).sum();
        assertEquals(run.stats().lost(), reported, "losses recorded in the trace");
    }

    @EachJdk
    void durationsLieBetweenWhatTheProgramMeasuresInsideAndAround(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Durations", "5").withAgent(AgentConfig.timed("targets.Durations").ungoverned());
        List<Call> calls = run.trace().callsOf("targets.Durations.busy");
        List<long[]> measured = measured(run);
        assertEquals(measured.size(), calls.size());
        for (int i = 0; i < calls.size(); i++) {
            double duration = calls.get(i).duration();
            long[] bounds = measured.get(i);
            boolean isBetween = bounds[0] * (1 - CLOCK_ERROR) <= duration && duration <= bounds[1] * (1 + CLOCK_ERROR);
            assertTrue(isBetween, bounds[0] + " <= " + duration + " <= " + bounds[1]);
        }
    }

    @EachJdk
    @Tag("timed")
    void levelWatchSeesEveryCallThatIsLongerThanATick(Jdk jdk) {
        Finished run = watched(jdk, AgentConfig.atLevel("watch", "targets.Durations"), 60);
        List<Call> calls = run.trace().callsOf("targets.Durations.busy");
        List<long[]> measured = measured(run);
        assertEquals(measured.size(), calls.size());
        long total = calls.stream().mapToLong(Call::duration).sum();
        long inside = measured.stream().mapToLong(bounds -> bounds[0]).sum();
        long around = measured.stream().mapToLong(bounds -> bounds[1]).sum();
        long error = calls.size() * run.trace().longestTick();
        assertTrue(inside - error <= total && total <= around + error, inside + " <= " + total + " <= " + around + " but for " + error);
        assertTrue(calls.stream().noneMatch(Call::exact), "times of level watch are not exact");
    }

    @EachJdk
    @Tag("timed")
    void aTickOfAnotherLengthSeesEveryCallThatIsLongerThanIt(Jdk jdk) {
        for (int tick : new int[] {200, 20_000}) {
            AgentConfig watch = AgentConfig.atLevel("watch", "targets.Durations");
            watch = new AgentConfig(watch.fileName(), "[watch]\ntick-us = " + tick + "\n" + watch.text());
            long millis = Math.max(60, 4 * tick / 1000);
            Finished run = watched(jdk, watch, millis);
            List<Call> calls = run.trace().callsOf("targets.Durations.busy");
            List<long[]> measured = measured(run);
            assertEquals(measured.size(), calls.size(), tick + " us");
            assertEquals(tick + "000", run.trace().setting("watch.tick-ns"));
            long mean = Long.parseLong(run.trace().setting("watch.tick-mean-ns"));
            // Between half of it and a whole one; those that count calls (ten a second) are shorter.
            assertTrue(mean > tick * 450L, "ticks come after " + mean + " ns");
        }
    }

    /** Returns a run in which no tick was so late that it missed a call: on a busy machine the first run may have such a tick. */
    private static Finished watched(Jdk jdk, AgentConfig watch, long millis) {
        Program program = Program.target(jdk, "targets.Durations", Long.toString(millis));
        return Awaiting.await(() -> program.withAgent(watch), run -> run.trace().longestTick() < millis * 1_000_000);
    }

    @EachJdk
    void levelOffRecordsNothing(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Exactness").compare(AgentConfig.atLevel("off", WORK));
        assertEquals(List.of(), run.trace().calls());
        assertTrue(run.stats().methodsInstrumented() >= 4, "the guards are there");
    }

    private static List<long[]> measured(Finished run) {
        List<long[]> measured = new ArrayList<>();
        run.stdout().lines().map(line -> line.split(" ")).forEach(
                words -> measured.add(new long[] {Long.parseLong(words[1]), Long.parseLong(words[2])}));
        return measured;
    }

    /** Each unit encloses its nine calls, the recursion encloses itself, and nothing overlaps. */
    private static void assertNested(List<Call> thread) {
        List<Call> calls = new ArrayList<>(thread);
        calls.sort(Comparator.comparingLong(Call::start).thenComparing(Comparator.comparingLong(Call::end).reversed()));
        Deque<Call> open = new ArrayDeque<>();
        int inUnit = 0;
        for (Call call : calls) {
            while (!open.isEmpty() && open.peek().end() <= call.start() && open.peek() != call) {
                open.pop();
            }
            if (call.method().equals("unit")) {
                assertTrue(open.isEmpty(), () -> call + " inside " + open.peek());
                inUnit = 0;
            } else {
                Call parent = open.peek();
                assertTrue(parent != null, () -> call + " outside any unit");
                assertTrue(call.end() <= parent.end(), () -> call + " ends after " + parent);
                boolean inRecursion = call.method().equals("recurse") && parent.method().equals("recurse");
                assertTrue(inRecursion || parent.method().equals("unit"), () -> call + " inside " + parent);
            }
            inUnit++;
            assertTrue(inUnit <= CALLS_PER_UNIT, () -> "more than a unit's calls in one unit: " + call);
            open.push(call);
        }
    }
}
