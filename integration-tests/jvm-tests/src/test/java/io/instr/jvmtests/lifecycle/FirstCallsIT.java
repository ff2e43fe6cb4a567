package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.nio.file.Path;

/** Do the first calls of a program find a runtime that is ready for them? */
class FirstCallsIT {

    /** The shortest time that {@code work} takes. */
    private static final long WORK_NANOS = 200_000_000;

    /** A class of the runtime whose initialiser overflows the stack could never be used again, and each call would fail. */
    @EachJdk
    void anOverflowInTheFirstCallsLeavesTheProgramAsItIs(Jdk jdk) {
        for (String level : new String[] {"watch", "time", "full"}) {
            for (String live : new String[] {"true", "false"}) {
                Finished run = recorded(jdk, level, live);
                assertEquals(1, run.trace().counts().get("targets.EarlyOverflow.work"), level + ", live = " + live);
            }
        }
    }

    /** {@code main} begins at once; the thread that ticks may take longer to. */
    @EachJdk
    void callsBeforeTheFirstTickOfTheTickerAreRecorded(Jdk jdk) {
        for (int i = 0; i < 4; i++) {
            Finished run = recorded(jdk, "watch", "true");
            assertEquals(1, run.trace().counts().get("targets.EarlyOverflow.main"), "run " + i);
        }
    }

    /** Ticks begin with the first class that needs them; until then there is one from the beginning of the recording. */
    @EachJdk(oldestAndNewest = true)
    void theFirstCallOfAClassThatIsLoadedLateLastsNoLongerThanItDid(Jdk jdk) {
        for (int i = 0; i < 4; i++) {
            Path directory = RunDirectories.create();
            long around;
            try (Dialog program = Program.target(jdk, "targets.Conversation").talkWithAgent(AgentConfig.atLevel("watch", "targets.Durations"), directory)) {
                program.ask("work 100000000");
                around = Long.parseLong(program.ask("busy 50000000").split(" ")[2]);
                program.send("quit");
                program.finish().assertExitCode(0);
            }
            Trace trace = Finished.in(directory).trace();
            for (Trace.Call call : trace.callsOf("targets.Durations.busy")) {
                assertTrue(call.duration() <= around + trace.longestTick(), call + " in " + around);
            }
        }
    }

    /** At level watch, a run in which no tick was so late that it missed a call: on a busy machine the first run may have such a tick. */
    private static Finished recorded(Jdk jdk, String level, String live) {
        Program program = Program.target(jdk, "targets.EarlyOverflow");
        return Awaiting.await(() -> program.compare(config(level, live)),
                run -> !level.equals("watch") || run.trace().longestTick() < WORK_NANOS);
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
