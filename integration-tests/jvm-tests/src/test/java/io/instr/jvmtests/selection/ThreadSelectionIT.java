package io.instr.jvmtests.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Trace.Call;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;

/** Calls of chosen threads, and how often threads leave their processors. */
class ThreadSelectionIT {

    private static Finished run(Jdk jdk, String lines) {
        AgentConfig config = AgentConfig.verbatim("""
                [trace]
                file = "trace.jfr"
                %s
                [agent]
                stats = "stats.json"
                [governor]
                enabled = false
                [[rule]]
                class = "targets.NamedThreads"
                method = "work"
                level = "time"
                [[rule]]
                class = "java.lang.Thread"
                method = "interrupt"
                level = "time"
                """.formatted(lines));
        return Program.target(jdk, "targets.NamedThreads").withAgent(config).assertExitCode(0);
    }

    private static Map<String, Long> calls(Finished run) {
        return new TreeMap<>(run.trace().calls().stream()
                .filter(call -> call.name().endsWith(".work"))
                .collect(Collectors.groupingBy(Call::threadName, Collectors.counting())));
    }

    @EachJdk
    void onlyTheThreadsThatAreNamedAreRecorded(Jdk jdk) {
        Finished run = run(jdk, "threads = ['http-*', '!*admin*']");
        assertEquals(Map.of("http-nio/8080-100", 100L), calls(run));
        // The other 900, and both interruptions.
        assertEquals(902, run.stats().figure("records_of_other_threads"));
        assertEquals(100, run.stats().figure("records"));
        assertEquals(0, run.stats().figure("lost"));
    }

    @EachJdk
    void allThreadsAreRecordedWithTheirSwitchesAndInterruptions(Jdk jdk) {
        Finished run = run(jdk, "events = ['threads', 'switches']");
        assertEquals(Map.of("http-nio/8080-100", 100L, "http-admin-200", 200L, "batch-300", 300L, "main", 400L), calls(run));
        assertEquals(2, run.trace().calls().stream().filter(call -> call.name().equals("java.lang.Thread.interrupt")).count());
        Map<String, Long> waited = new TreeMap<>();
        for (RecordedEvent event : run.trace().events("instr.ThreadSwitches")) {
            // A thread that is being attached has no id yet.
            if (event.getThread() != null) {
                waited.merge(event.getThread().getJavaName(), event.getLong("voluntary"), Math::max);
            }
        }
        for (String thread : List.of("http-nio/8080-100", "http-admin-200", "batch-300", "main")) {
            // A sleep whose time is over before it has begun, as on a busy machine, leaves no processor.
            assertTrue(waited.getOrDefault(thread, 0L) >= 90, thread + " in " + waited);
        }
    }
}
