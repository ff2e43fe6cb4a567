package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Trace.Call;
import io.instr.jvmtests.jvm.Trace;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** 10,000 virtual threads that change carriers in the middle of instrumented calls. */
class VirtualThreadsIT {

    private static final int THREADS = 10_000;
    private static final int STEPS = 5;

    @EachJdk(from = 21)
    void everyCallBelongsToItsVirtualThread(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.VirtualThreads").compare(AgentConfig.timed("targets.VirtualThreads").ungoverned());
        assertEquals(0, run.stats().lost());
        Trace trace = run.trace();
        Map<String, Long> own = run.ownCounts();
        Map<String, Long> traced = new TreeMap<>(trace.counts());
        traced.keySet().retainAll(own.keySet());
        assertEquals(own, traced);

        List<Call> bodies = trace.callsOf("targets.VirtualThreads.body");
        Set<Long> threads = bodies.stream().map(Call::threadId).collect(Collectors.toSet());
        assertEquals(THREADS, threads.size(), "threads with a body");
        Map<Long, Long> steps = trace.callsOf("targets.VirtualThreads.step").stream()
                .collect(Collectors.groupingBy(Call::threadId, Collectors.counting()));
        assertEquals(threads, steps.keySet(), "threads with steps");
        assertEquals(Set.of((long) STEPS), Set.copyOf(steps.values()), "steps of a thread");
    }
}
