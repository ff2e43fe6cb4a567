package io.instr.jvmtests.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import java.util.Map;
import java.util.TreeMap;

/** Rules by super type and annotation, decided while eight threads load classes whose super types are not there yet. */
class HierarchyIT {

    private static final String PREFIX = "targets.ParallelLoaders$";
    private static final long THREADS = 8;

    @EachJdk
    void superTypesAtAnyDepth(Jdk jdk) {
        assertTraced(jdk, """
                [[rule]]
                extends = "targets.ParallelLoaders$Handler"
                method = "handle"
                level = "time"
                """, Map.of("Base.handle", THREADS, "Derived.handle", THREADS, "MostDerived.handle", THREADS));
    }

    @EachJdk
    void superTypesInTheJdk(Jdk jdk) {
        assertTraced(jdk, """
                [[rule]]
                class = "targets.**"
                extends = "java.util.Collection"
                method = "add"
                bridges = true
                level = "time"
                """, Map.of("Names.add", 2 * THREADS));
    }

    @EachJdk
    void annotatedClassesWithoutOneOfTheirMethods(Jdk jdk) {
        assertTraced(jdk, """
                [[rule]]
                annotated = "targets.ParallelLoaders$Audited"
                exclude = "targets.**#handle(*)"
                constructors = true
                level = "time"

                [[rule]]
                extends = "targets.ParallelLoaders$Base"
                method = "handle"
                level = "time"
                """, Map.of(
                "MostDerived.<init>", THREADS, "MostDerived.call", THREADS, "MostDerived.ownList", THREADS,
                "Base.handle", THREADS, "Derived.handle", THREADS));
    }

    private static void assertTraced(Jdk jdk, String rules, Map<String, Long> expected) {
        Program program = Program.target(jdk, "targets.ParallelLoaders").with("-Xverify:all");
        Finished run = program.compare(AgentConfig.of(rules).ungoverned());
        Map<String, Long> traced = new TreeMap<>();
        run.trace().counts().forEach((name, count) -> traced.put(name.replace(PREFIX, ""), count));
        assertEquals(new TreeMap<>(expected), traced);
        // At least the program's main class: no rule matches a method of it, which is decided by its name and super types.
        long unmatched = run.stats().figure("classes_unmatched");
        assertTrue(unmatched > 0 && unmatched < run.stats().figure("classes_examined"), "" + run.stats());
    }
}
