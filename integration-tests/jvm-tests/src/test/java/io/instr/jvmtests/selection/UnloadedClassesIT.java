package io.instr.jvmtests.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import java.util.Map;
import java.util.TreeMap;

/** Programs that define classes and drop them for as long as they run. */
class UnloadedClassesIT {

    private static final String GUEST = "targets.ClassChurn$Guest";

    /** What the agent keeps does not grow with the number of classes, and every call is in the recording. */
    @EachJdk(from = 21)
    void classesWithEverNewNamesUseNoMemoryAfterwards(Jdk jdk) {
        int classes = 1_000;
        Finished run = Program.target(jdk, "targets.ClassChurn", classes + "").withAgent(AgentConfig.of("""
                [[rule]]
                class = "targets.ClassChurn$Guest*"
                template = "timed"
                level = "time"

                [[rule]]
                class = "targets.none.**"
                extends = "java.util.concurrent.Callable"
                """).ungoverned());
        run.assertExitCode(0);
        Map<String, Long> counts = new TreeMap<>(run.trace().counts());
        assertEquals(2L * classes, counts.values().stream().mapToLong(Long::longValue).sum(), "run and add of each");
        long shared = counts.getOrDefault(GUEST + "*.run", 0L);
        assertEquals(classes, shared + counts.keySet().stream().filter(name -> name.matches(".*\\d[.]run")).count());
        assertTrue(shared > classes / 3, shared + " calls of classes that share their probes");
        // 256 have probes of their own, and those that are loaded between two collections.
        for (String table : new String[] {"probed_classes", "rewritten_classes", "followed_loaders"}) {
            JsonNode size = run.stats().json().path("kept_about_classes").path(table);
            assertTrue(size.isNumber() && size.longValue() < classes * 2 / 3, table + ": " + run.stats());
        }
        assertTrue(run.stats().json().path("kept_about_classes").path("known_types").longValue() < classes, run.stats() + "");
    }
}
