package io.instr.jvmtests;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;

/** Do the first calls of a program find a runtime that is ready for them? */
class FirstCallsIT {

    /** A class of the runtime whose initialiser overflows the stack could never be used again, and each call would fail. */
    @EachJdk
    void anOverflowInTheFirstCallsLeavesTheProgramAsItIs(Jdk jdk) {
        for (String level : new String[] {"watch", "time", "full"}) {
            for (String live : new String[] {"true", "false"}) {
                Finished run = Program.target(jdk, "targets.EarlyOverflow").compare(config(level, live));
                assertEquals(1, run.trace().counts().get("targets.EarlyOverflow.work"), level + ", live = " + live);
            }
        }
    }

    /** {@code main} begins at once; the thread that ticks may take longer to. */
    @EachJdk
    void callsBeforeTheFirstTickOfTheTickerAreRecorded(Jdk jdk) {
        for (int i = 0; i < 4; i++) {
            Finished run = Program.target(jdk, "targets.EarlyOverflow").compare(config("watch", "true"));
            assertEquals(1, run.trace().counts().get("targets.EarlyOverflow.main"), "run " + i);
        }
    }

    private static AgentConfig config(String level, String live) {
        return AgentConfig.of("""
                [control]
                live = %s
                [[rule]]
                class = "targets.EarlyOverflow"
                level = "%s"
                """.formatted(live, level));
    }
}
