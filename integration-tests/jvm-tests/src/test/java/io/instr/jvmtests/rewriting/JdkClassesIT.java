package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Trace;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Classes of the JDK, most of them loaded before the agent, some used by its own probes. */
class JdkClassesIT {

    private static final int PUTS = 2_000;
    private static final int THREADS = 3;

    @EachJdk
    void mapsAndThreads(Jdk jdk) {
        AgentConfig config =
                AgentConfig.timed("java.util.HashMap", "java.util.concurrent.ConcurrentHashMap", "java.lang.Thread").ungoverned();
        Trace trace = program(jdk).compare(config).trace();

        long puts = trace.callsOf("java.util.HashMap.put").stream().filter(call -> call.threadName().equals("main")).count();
        assertTrue(puts >= PUTS, puts + " calls of HashMap.put in main");
        for (int i = 0; i < THREADS; i++) {
            String name = "puts-" + i;
            long concurrent = trace.callsOf("java.util.concurrent.ConcurrentHashMap.put").stream()
                    .filter(call -> call.threadName().equals(name))
                    .count();
            assertTrue(concurrent >= PUTS, concurrent + " calls of ConcurrentHashMap.put in " + name);
        }
        long starts = trace.count("java.lang.Thread.start");
        assertTrue(starts >= 2 * THREADS + 1, starts + " threads started");
    }

    @EachJdk
    void allOfJavaUtil(Jdk jdk) {
        Finished run = program(jdk).compare(AgentConfig.timed("java.util.**").ungoverned());
        assertTrue(run.stats().methodsInstrumented() > 1_000, run.stats() + "");
        Map<String, Long> counts = run.trace().counts();
        for (String method : new String[] {
            "java.util.ArrayList.add", "java.util.PriorityQueue.poll", "java.util.concurrent.ThreadPoolExecutor.runWorker",
            "java.util.stream.Collectors.groupingBy", "java.util.Formatter.format"
        }) {
            assertTrue(counts.getOrDefault(method, 0L) > 0, () -> "no call of " + method + " among " + counts.keySet());
        }
    }

    @EachJdk
    void allOfTheJdk(Jdk jdk) {
        AgentConfig config = AgentConfig.atLevel("watch", "java.**", "javax.**", "jdk.**", "sun.**", "com.sun.**");
        Finished run = program(jdk).compare(config);
        assertTrue(run.stats().methodsInstrumented() > 3_000, run.stats() + "");
    }

    /** Since JDK 21 this thread runs code of the JDK after the event of its end has been posted. */
    @EachJdk
    void theThreadThatEndsTheJvmLosesNothing(Jdk jdk) {
        AgentConfig config = AgentConfig.timed("java.**", "jdk.internal.**", "sun.**").ungoverned();
        Finished run = Program.target(jdk, "targets.Hello").compare(config);
        assertEquals(0, run.stats().lost());
        Set<String> threads = run.trace().calls().stream().map(Trace.Call::threadName).collect(Collectors.toSet());
        assertTrue(threads.contains("DestroyJavaVM"), threads + "");
    }

    @EachJdk
    void withTheApplicationAtOnce(Jdk jdk) {
        AgentConfig config = AgentConfig.timed("java.util.**", "targets.**").ungoverned();
        Finished run = Program.target(jdk, "targets.features.AllFeatures").with("-Xverify:all").compare(config);
        assertEquals(1, run.trace().count("targets.features.AllFeatures.main"));
    }

    private static Program program(Jdk jdk) {
        return Program.target(jdk, "targets.JdkClasses").with("-Xverify:all");
    }
}
