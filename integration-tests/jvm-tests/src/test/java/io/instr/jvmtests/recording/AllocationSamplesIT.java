package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.nio.file.Path;
import java.util.List;
import java.util.function.Predicate;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.ItemFilters;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.unit.UnitLookup;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.jdk.JdkAttributes;

/** Samples of allocations tell who allocates how much. */
class AllocationSamplesIT {

    private static final double MEGABYTES = 600;

    @EachJdk
    void theBytesOfMethodsAndClassesComeOut(Jdk jdk) throws Exception {
        Path file = record(jdk).resolve("trace.jfr");
        Trace trace = Trace.read(file);
        List<RecordedEvent> samples = trace.events("jdk.ObjectAllocationSample");
        double all = MEGABYTES * (1 << 20);
        assertClose(all * 3 / 4, weight(samples, event -> isClass(event, "byte[]") && isIn(event, "arrays")), 0.15);
        assertClose(all / 4, weight(samples, event -> isClass(event, "java.util.ArrayList") && isIn(event, "lists")), 0.2);
        RecordedEvent first = samples.stream().filter(event -> isIn(event, "arrays")).findFirst().orElseThrow();
        assertEquals("main", first.getThread().getJavaName());
        assertEquals(1024, first.getLong("objectSize"));
        assertTrue(first.getStackTrace().getFrames().get(0).getLineNumber() > 0);

        Finished report = Tool.instr(List.of("report", "--by", "allocated", file.toString()));
        assertTrue(report.assertExitCode(0).stdout().contains("targets.Recorded.arrays"), report.stdout());
        Finished collapsed = Tool.instr(List.of("export", "--format", "collapsed", "--allocations", file.toString()));
        long exported = collapsed.assertExitCode(0).stdout().lines().mapToLong(line -> Long.parseLong(line.substring(line.lastIndexOf(' ') + 1))).sum();
        assertEquals(weight(samples, event -> true), exported);

        long forMissionControl = 0;
        for (IItemIterable items : JfrLoaderToolkit.loadEvents(file.toFile()).apply(ItemFilters.type("jdk.ObjectAllocationSample"))) {
            for (IItem item : items) {
                IQuantity weight = JdkAttributes.SAMPLE_WEIGHT.getAccessor(items.getType()).getMember(item);
                forMissionControl += weight.longValueIn(UnitLookup.BYTE);
            }
        }
        assertEquals(weight(samples, event -> true), forMissionControl);
    }

    private static Path record(Jdk jdk) {
        Path directory = RunDirectories.create();
        // No rule at all.
        AgentConfig config = AgentConfig.verbatim("[trace]\nfile = \"trace.jfr\"\n[allocation]\ninterval-kb = 128\n");
        try (Dialog program = Program.target(jdk, "targets.Recorded").talkWithAgent(config, directory)) {
            program.ask("allocate " + (int) MEGABYTES);
            program.send("quit");
            assertEquals("", program.finish().assertExitCode(0).stderr());
        }
        return directory;
    }

    private static boolean isClass(RecordedEvent event, String name) {
        RecordedClass type = event.getValue("objectClass");
        return type.getName().equals(name.equals("byte[]") ? "[B" : name);
    }

    private static boolean isIn(RecordedEvent event, String method) {
        // What the JVM allocates by itself has no frames.
        List<RecordedFrame> frames = event.getStackTrace().getFrames();
        return !frames.isEmpty() && frames.get(0).getMethod().getName().equals(method);
    }

    private static long weight(List<RecordedEvent> samples, Predicate<RecordedEvent> wanted) {
        return samples.stream().filter(wanted).mapToLong(event -> event.getLong("weight")).sum();
    }

    private static void assertClose(double expected, double actual, double tolerance) {
        assertTrue(Math.abs(actual - expected) < tolerance * expected, actual + " in place of " + expected);
    }
}
