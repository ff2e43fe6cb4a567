package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import java.util.List;

/** What a program sees of its own stack stays the same: depth, frames, line numbers, callers. */
class StackViewIT {

    @EachJdk
    void stackIsTheSameAtEveryLevel(Jdk jdk) {
        for (String level : List.of("time", "watch", "off")) {
            AgentConfig config = AgentConfig.atLevel(level, "targets.**");
            Finished run = Program.target(jdk, "targets.StackView").compare(config);
            assertTrue(run.stats().methodsInstrumented() > 10, level + " " + run.stats());
            if (level.equals("time")) {
                assertEquals(4, run.trace().count("targets.StackView.outer"));
            }
        }
    }
}
