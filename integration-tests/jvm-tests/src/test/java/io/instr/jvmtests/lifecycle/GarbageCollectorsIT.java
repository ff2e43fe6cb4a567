package io.instr.jvmtests.lifecycle;

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
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;
import org.junit.jupiter.api.Tag;

/** Is every call recorded or counted as lost, under each collector and however many threads there are? */
class GarbageCollectorsIT {

    private static final String STEP = "targets.ManyThreads$Work.step";
    private static final AgentConfig TIMED = AgentConfig.timed("targets.ManyThreads$Work").ungoverned();
    private static final List<String> COLLECTORS = List.of("Serial", "Parallel", "G1", "Z");
    private static final int VIRTUAL_THREADS = 10_000;

    @EachJdk
    void eightAndSixtyFourThreadsUnderEachCollector(Jdk jdk) {
        everyCallIsThere(jdk, "platform", 8, 10_000);
        everyCallIsThere(jdk, "platform", 64, 1_000);
    }

    @EachJdk(from = 21)
    void tenThousandVirtualThreadsUnderEachCollector(Jdk jdk) {
        everyCallIsThere(jdk, "virtual", VIRTUAL_THREADS, 20);
    }

    private static Program program(Jdk jdk, String collector, String kind, int threads, int calls) {
        Program program = Program.target(jdk, "targets.ManyThreads", kind, "" + threads, "" + calls);
        // Before JDK 15 an experiment.
        return program.with("-XX:+UnlockExperimentalVMOptions", "-XX:+Use" + collector + "GC");
    }

    private static void everyCallIsThere(Jdk jdk, String kind, int threads, int calls) {
        Finished plain = program(jdk, "Serial", kind, threads, calls).withoutAgent();
        for (String collector : COLLECTORS) {
            Finished run = program(jdk, collector, kind, threads, calls).withAgent(TIMED).assertBehavesLike(plain);
            everyCallIsThere(run, threads, calls);
        }
    }

    private static void everyCallIsThere(Finished run, int threads, long calls) {
        String where = String.join(" ", run.command());
        assertEquals(0, run.stats().lost(), where);
        List<Call> steps = run.trace().callsOf(STEP);
        assertEquals(threads * calls, run.ownCounts().get(STEP), where);
        Map<Long, Long> byThread = steps.stream().collect(Collectors.groupingBy(Call::threadId, Collectors.counting()));
        assertEquals(threads, byThread.size(), where);
        assertEquals(Set.of(calls), Set.copyOf(byThread.values()), where);
    }

    @EachJdk(oldestAndNewest = true)
    void lossesAreRecordedForTheThreadThatLostThem(Jdk jdk) {
        AgentConfig tiny = AgentConfig.of("buffer-mb = 1", "", """
                [[rule]]
                class = "targets.ManyThreads$Work"
                level = "time"
                """).ungoverned();
        // Many times what the segments of a mebibyte and those of the threads can hold. Where the threads are slow, the drainer may keep up.
        int threads = 64;
        long calls = 40_000;
        Program program = program(jdk, "Parallel", "platform", threads, (int) calls);
        Finished run = Awaiting.await(() -> program.compare(tiny), tried -> tried.stats().lost() > 0);
        Trace trace = run.trace();
        assertEquals(threads * calls, run.ownCounts().get(STEP));
        long lost = run.stats().lost();
        assertEquals(threads * calls, run.stats().figure("records") + lost, "records + lost = calls");

        Map<String, Long> lostBy = trace.events("instr.Loss").stream()
                .collect(Collectors.groupingBy(GarbageCollectorsIT::thread, Collectors.summingLong(loss -> loss.getLong("lost"))));
        assertEquals(lost, lostBy.values().stream().mapToLong(Long::longValue).sum());
        Map<String, Long> recordedBy = trace.callsOf(STEP).stream().collect(Collectors.groupingBy(Call::threadName, Collectors.counting()));
        for (int i = 0; i < threads; i++) {
            String name = "many-" + i;
            assertEquals(calls, recordedBy.getOrDefault(name, 0L) + lostBy.getOrDefault(name, 0L), "calls of thread " + name);
        }
    }

    private static String thread(RecordedEvent loss) {
        return Trace.nameOf(loss.getThread());
    }

    @EachJdk(oldestAndNewest = true)
    void shortThreadsDoNotGrowTheAgent(Jdk jdk) {
        shortThreadsDoNotGrowTheAgent(jdk, 24_000);
    }

    @EachJdk
    @Tag("soak")
    void aHundredThousandShortThreadsDoNotGrowTheAgent(Jdk jdk) {
        shortThreadsDoNotGrowTheAgent(jdk, 200_000);
    }

    private static void shortThreadsDoNotGrowTheAgent(Jdk jdk, int threads) {
        // The heap has its size from the beginning: what grows is outside. One arena, as threads that come and go spread what they
        // allocate over all of the C library's, each of which grows to a size of its own before it stays so.
        Program program = Program.target(jdk, "targets.ManyThreads", "short", "" + threads, "3")
                .startedBy(List.of("/usr/bin/env", "MALLOC_ARENA_MAX=1"))
                .with("-XX:+UseSerialGC", "-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch");
        long plain = growth(program.withoutAgent());
        Finished run = program.withAgent(AgentConfig.of("events = []\nbuffer-mb = 4", "", """
                [[rule]]
                class = "targets.ManyThreads$Work"
                method = "step"
                level = "time"
                """).ungoverned()).assertExitCode(0);
        assertEquals(3L * threads, run.stats().figure("records") + run.stats().lost(), "records + lost = calls");
        long growth = growth(run);
        // The program looks at its memory after each quarter of the threads. A quarter of a kilobyte of each of 50,000 would show, and
        // two kilobytes of each of 6,000: all that the agent keeps of a thread. A unit test of the recording is finer.
        assertTrue(growth - plain < 12 << 10, "grown by " + growth + " KiB, without the agent by " + plain);
    }

    private static long growth(Finished run) {
        return run.stderr().lines()
                .filter(line -> line.startsWith("growth-kb "))
                .mapToLong(line -> Long.parseLong(line.substring(10)))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no growth printed: " + run.stdout() + run.stderr()));
    }
}
