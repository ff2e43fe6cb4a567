package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.nio.file.Path;
import java.util.List;

/** Calls that sleep for 8 ms at level watch: reported as long as they were, or not at all. */
class WatchedLengthsIT {

    private static final int CALLS = 250;
    private static final List<String> LENGTHS = List.of("average", "p50", "p95", "p99", "max");
    /** Margins hold in 19 cases of 20; with this factor in all but one of a million. */
    private static final double SURE = 2.5;

    @EachJdk(from = 25)
    void atTheDefaultTickThereIsATotalWithItsMarginAndNoLength(Jdk jdk) throws Exception {
        Run run = Run.of(jdk, "");
        run.assertTotal();
        for (String length : LENGTHS) {
            JsonNode value = run.method.get(length);
            // Unless the machine held a call up for two ticks and more: then that is how long it was.
            assertTrue(value.isNull() || run.isOfALongCall(value.asLong()), length + " in " + run.method + ", longest " + run.longest);
        }
    }

    @EachJdk(from = 25)
    void withATickOfAMillisecondTheLengthsAreThoseOfTheCalls(Jdk jdk) throws Exception {
        Run run = Run.of(jdk, "[watch]\ntick-us = 1000\n");
        run.assertTotal();
        double average = run.method.get("average").asDouble();
        assertEquals(run.nanos / (double) CALLS, average, 1e6, () -> "average of " + run.method);
        for (String length : LENGTHS) {
            assertTrue(run.method.get(length).asLong() >= 7_000_000, length + " in " + run.method);
        }
    }

    /** The method in the report, and the time in its calls as the program has measured it. */
    private record Run(JsonNode method, long nanos, long longest, Trace trace) {

        /** Returns a run without a tick that was much too late: all the time before such a tick is assigned to the calls at its end. */
        static Run of(Jdk jdk, String watch) {
            return Awaiting.await(() -> once(jdk, watch), Run::hadTimelyTicks);
        }

        private boolean hadTimelyTicks() {
            long mean = Long.parseLong(trace.setting("watch.tick-mean-ns"));
            return trace.longestTick() <= Math.max(20_000_000, 4 * mean);
        }

        boolean isOfALongCall(long length) {
            long mean = Long.parseLong(trace.setting("watch.tick-mean-ns"));
            return length >= 2 * mean && length <= longest + trace.longestTick();
        }

        private static Run once(Jdk jdk, String watch) throws Exception {
            Path directory = RunDirectories.create();
            AgentConfig config = AgentConfig.verbatim("""
                    [trace]
                    file = "trace.jfr"
                    %s
                    [[rule]]
                    class = "targets.KnownLoad"
                    method = "paced"
                    level = "watch"
                    """.formatted(watch));
            String[] measured;
            try (Dialog program = Program.target(jdk, "targets.KnownLoad").talkWithAgent(config, directory)) {
                measured = program.ask("steady 1 8 " + CALLS).split(" ");
                program.send("quit");
                program.finish().assertExitCode(0);
            }
            String json = Tool.instr(List.of("report", "--json", directory.resolve("trace.jfr").toString())).assertExitCode(0).stdout();
            JsonNode frames = new ObjectMapper().readTree(json).get("frames");
            assertEquals(1, frames.size(), frames::toString);
            return new Run(frames.get(0), Long.parseLong(measured[2]), Long.parseLong(measured[3]), Trace.read(directory.resolve("trace.jfr")));
        }

        void assertTotal() {
            long total = method.get("total").asLong();
            long margin = method.get("total_margin").asLong();
            assertTrue(margin > 0, () -> "estimates have margins: " + method);
            assertEquals(nanos, total, SURE * margin, () -> nanos + " ns in " + method);
        }
    }
}
