package io.instr.jvmtests.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Tool;
import java.util.List;

/** Calls and samples of a real program are counted in each way of looking at them, and each adds up to all of them. */
class ViewsIT {

    private static final List<String> VIEWS = List.of("process", "module", "package", "class", "method", "stack");

    @EachJdk
    void eachViewOfCallsAndSamplesHasTheSameSum(Jdk jdk) {
        AgentConfig config = AgentConfig.of("""
                [sampler]
                interval = "1 ms"
                [[rule]]
                class = "targets.Busy"
                level = "time"
                [[rule]]
                class = "java.util.concurrent.**"
                level = "time"
                """).ungoverned();
        Finished run = Program.target(jdk, "targets.Busy", "shares", "300").withAgent(config).assertExitCode(0);
        String file = run.directory().resolve("trace.jfr").toString();
        List<List<String>> expected = sums(view("process", file));
        assertEquals(2, expected.size(), "one sum for calls, one for samples");
        for (String view : VIEWS) {
            assertEquals(expected, sums(view(view, file)), view);
        }
        // Times of threads are as recorded: that of probes is left out of the times of methods only (docs/reports.md).
        List<List<String>> ofThreads = sums(view("thread", file));
        assertEquals(List.of(last(expected.get(0)), expected.get(1)), List.of(last(ofThreads.get(0)), ofThreads.get(1)));
        long calls = run.trace().calls().size();
        assertEquals(String.format("%,d", calls), last(expected.get(0)), "all calls are in the sum");
        String modules = view("module", file);
        assertTrue(modules.contains("java.base"), modules);
        assertTrue(modules.contains("  targets ("), "the package is shown if the recording knows no module: " + modules);
    }

    private static String last(List<String> words) {
        return words.get(words.size() - 1);
    }

    private static String view(String view, String file) {
        return Tool.instr(List.of("report", "--view", view, "--rows", "5", file)).assertExitCode(0).stdout();
    }

    /** The words before "= sum of all"; a view of calls has time, percent and calls, one of samples ticks and percent. */
    private static List<List<String>> sums(String text) {
        return text.lines()
                .filter(line -> line.contains("= sum of all"))
                .map(line -> List.of(line.substring(0, line.indexOf('=')).strip().split("\\s+")))
                .toList();
    }
}
