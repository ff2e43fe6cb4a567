package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace.Call;
import io.instr.jvmtests.jvm.Trace;
import java.io.File;
import java.util.List;
import java.util.Map;

/** Hooks in the source of a program, by the jar instr-api. */
class ManualHooksIT {

    private static final String SECTION = "section.";

    private static Finished run(Jdk jdk, String rules) {
        String classPath = BuildResult.TARGETS.path() + File.pathSeparator + BuildResult.API.path();
        return Program.of(jdk, List.of("-cp", classPath), List.of("targets.Sections")).compare(AgentConfig.of(rules));
    }

    @EachJdk
    void sectionsAreCallsAndEveryPairIsOne(Jdk jdk) {
        Finished run = run(jdk, "[[rule]]\npreset = \"api\"\n");
        Trace trace = run.trace();
        Map<String, Long> counts = trace.counts();
        assertEquals(100, counts.get("targets.Sections.traced"));
        assertEquals(100, counts.get(SECTION + "outer"));
        assertEquals(100, counts.get(SECTION + "inner, ü"), "a name that would split the lines of other tools");
        assertEquals(10, counts.get(SECTION + "throwing"));
        assertEquals(1, counts.get(SECTION + "twice"));
        assertEquals(2, counts.get(SECTION + "overlapping"));
        assertEquals(1, counts.get(SECTION + "(no name)"));
        assertEquals(4_000, counts.get(SECTION + "shared"));
        assertNull(counts.get(SECTION + "never ended"));
        assertNull(counts.get(SECTION + "ended elsewhere"));
        assertEquals(20_000, counts.entrySet().stream()
                .filter(entry -> entry.getKey().startsWith(SECTION + "name ") || entry.getKey().equals(SECTION + "(further sections)"))
                .mapToLong(Map.Entry::getValue)
                .sum());

        Call outer = trace.callsOf(SECTION + "outer").get(0);
        Call traced = trace.callsOf("targets.Sections.traced").get(0);
        Call inner = trace.callsOf(SECTION + "inner, ü").get(0);
        assertTrue(traced.start() <= outer.start() && outer.end() <= traced.end(), "a section lies in its method");
        assertTrue(outer.start() <= inner.start() && inner.end() <= outer.end(), "a section lies in a section");

        String report = Tool.instr(List.of("report", "--method", "section.outer", run.trace().file().toString())).stdout();
        assertTrue(report.contains("section.inner, ü") && report.contains("targets.Sections.traced"), report);
    }

    @EachJdk
    void withoutThePresetTheHooksDoNothing(Jdk jdk) {
        Finished run = run(jdk, "[[rule]]\nclass = \"targets.Sections\"\nmethod = \"shared\"\nlevel = \"time\"\n");
        assertEquals(Map.of("targets.Sections.shared", 4L), run.trace().counts());
    }
}
