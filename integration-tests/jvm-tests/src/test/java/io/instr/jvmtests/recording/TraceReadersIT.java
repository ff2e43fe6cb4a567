package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Tool;
import java.nio.file.Path;
import java.util.List;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.unit.UnitLookup;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;

/** The tools that Java people have read the trace. */
class TraceReadersIT {

    @EachJdk(having = "jfr")
    void jfrSummaryCountsTheCalls(Jdk jdk) {
        Finished summary = Tool.run(jdk, "jfr", List.of("summary", trace(jdk).toString())).assertExitCode(0);
        assertEquals("", summary.stderr());
        String line = summary.stdout().lines().filter(text -> text.contains("instr.MethodCall")).findFirst().orElse("");
        assertTrue(line.matches("\\s*instr\\.MethodCall\\s+4\\s+\\d+.*"), () -> line + "\n" + summary.stdout());
    }

    @EachJdk(having = "jfr")
    void jfrPrintShowsThem(Jdk jdk) {
        List<String> arguments = List.of("print", "--events", "instr.MethodCall", trace(jdk).toString());
        Finished printed = Tool.run(jdk, "jfr", arguments).assertExitCode(0);
        assertEquals("", printed.stderr());
        long calls = printed.stdout().lines().filter(line -> line.contains("method = targets.Hello.greet(int, String)")).count();
        assertEquals(3, calls, printed.stdout());
        assertTrue(printed.stdout().contains("eventThread = \"main\""), printed.stdout());
    }

    @EachJdk
    void missionControlReadsThem(Jdk jdk) throws Exception {
        IItemCollection events = JfrLoaderToolkit.loadEvents(trace(jdk).toFile());
        IItemCollection calls = events.apply(ItemFilters.type("instr.MethodCall"));
        int count = 0;
        for (IItemIterable items : calls) {
            for (IItem call : items) {
                count++;
                IQuantity duration = JfrAttributes.DURATION.getAccessor(items.getType()).getMember(call);
                assertTrue(duration.longValueIn(UnitLookup.NANOSECOND) >= 0);
                String thread = JfrAttributes.EVENT_THREAD.getAccessor(items.getType()).getMember(call).getThreadName();
                assertEquals("main", thread);
            }
        }
        assertEquals(4, count, "calls");
    }

    /** A trace of four calls: main, and three times greet. */
    private static Path trace(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Hello").compare(AgentConfig.timed("targets.Hello").ungoverned());
        return run.directory().resolve("trace.jfr");
    }
}
