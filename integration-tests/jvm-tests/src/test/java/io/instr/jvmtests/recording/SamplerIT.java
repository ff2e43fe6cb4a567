package io.instr.jvmtests.recording;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Samples.Sample;
import io.instr.jvmtests.jvm.Samples;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;

/**
 * Samples of running threads. The programs measure the processor time that they use themselves, so that these tests do not
 * depend on how busy the machine is.
 */
class SamplerIT {

    private static final double TICK = 10e6;
    /** Nanoseconds by which the clocks of samples and of calls may differ. */
    private static final long CLOCK_ERROR = 1_000_000;

    @EachJdk
    void aKnownStackIsRecordedWithItsLines(Jdk jdk) {
        checkChain(Program.target(jdk, "targets.Busy", "chain", "1500"), "async", true);
    }

    /** The interpreter notes where it is only at calls and jumps, so the innermost line is not exact here. */
    @EachJdk
    void interpretedMethodsAreSeen(Jdk jdk) {
        checkChain(Program.target(jdk, "targets.Busy", "chain", "1500").with("-Xint"), "async", false);
    }

    @EachJdk
    void jvmtiSeesTheSame(Jdk jdk) {
        checkChain(Program.target(jdk, "targets.Busy", "chain", "1500"), "jvmti", true);
    }

    private static void checkChain(Program program, String engine, boolean isExact) {
        Finished run = program.withAgent(sampler("engine = \"" + engine + "\"")).assertExitCode(0);
        assertEquals("", run.stderr());
        Samples samples = Samples.of(run);
        assertEquals(0, run.trace().calls().size(), "no probes without rules");
        assertEquals(0, run.stats().figure("classes_rewritten"));
        assertEquals(engine, samples.setting("sampler.engine"));

        List<String> chain = List.of(
                "targets.Busy.c:" + run.line("line c"),
                "targets.Busy.b:" + run.line("line b"),
                "targets.Busy.a:" + run.line("line a"));
        long exact = samples.taken().stream()
                .filter(sample -> sample.frames().size() == 5 && sample.has("targets.Busy.c"))
                .filter(sample -> sample.frames().subList(isExact ? 0 : 1, 3).equals(chain.subList(isExact ? 0 : 1, 3)))
                .count();
        assertEquals(Set.of("main"), samples.taken().stream()
                .filter(sample -> sample.has("targets.Busy.chain"))
                .map(Sample::thread)
                .collect(Collectors.toSet()), "samples that are written after the end of their thread have its name as well");
        long all = samplesOfWork(samples);
        assertTrue(all > 50 && exact >= 0.8 * all, () -> exact + " of " + all + " are " + chain);
        assertClose(run.line("cpu main"), samples.ofThread("main"), 0.15);
    }

    /** Returns how many samples were taken of the program's work, with a stack or without: the start takes a different time on each machine. */
    private static long samplesOfWork(Samples samples) {
        return samples.all() - samples.taken().stream().filter(sample -> !sample.has("targets.Busy.chain")).count();
    }

    @EachJdk
    void samplesAreSharedAsProcessorTimeIs(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Busy", "shares", "700").withAgent(sampler("")).assertExitCode(0);
        Samples samples = Samples.of(run);
        assertClose(run.line("cpu large"), samples.ofThread("large"), 0.15);
        assertClose(run.line("cpu small"), samples.ofThread("small"), 0.2);
        assertClose(run.line("cpu all"), samples.all(), 0.15);
    }

    @EachJdk
    void deepStacksAreMarkedAndCounted(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Busy", "deep", "500").withAgent(sampler("depth = 32")).assertExitCode(0);
        Samples samples = Samples.of(run);
        List<Sample> deep = samples.taken().stream().filter(Sample::truncated).toList();
        assertTrue(deep.size() >= 30, deep.size() + " of " + samples.all());
        assertTrue(deep.stream().allMatch(sample -> sample.frames().size() == 32), "as many frames as were asked for");
        assertEquals(deep.size(), run.stats().sampled("truncated"));
        assertFalse(samples.taken().stream().anyMatch(sample -> sample.frames().size() > 32));
    }

    @EachJdk(oldestAndNewest = true)
    void tenThousandThreadsUseNoMemoryAfterwards(Jdk jdk) {
        threadsUseNoMemoryAfterwards(jdk, "10000");
    }

    @EachJdk
    @Tag("soak")
    void aHundredThousandThreadsUseNoMemoryAfterwards(Jdk jdk) {
        threadsUseNoMemoryAfterwards(jdk, "100000");
    }

    private static void threadsUseNoMemoryAfterwards(Jdk jdk, String count) {
        // A small heap and no profile-guided growth: what grows then is native.
        Program program = Program.target(jdk, "targets.Busy", "crowd", count).with("-Xmx32m", "-XX:+UseSerialGC");
        Finished run = program.withAgent(sampler("")).assertExitCode(0);
        long timers = Long.parseLong(run.line("timers"));
        long threads = Long.parseLong(run.line("threads"));
        assertTrue(timers <= threads, timers + " timers for " + threads + " threads");
        long growth = Long.parseLong(run.line("growth-kb"));
        assertTrue(growth < 6_500, "a quarter of the threads added " + growth + " kB");
        assertEquals(0, run.stats().sampled("threads_without_timer"));
    }

    @EachJdk
    void classesMayBeUnloadedMeanwhile(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Busy", "unload", "400").withAgent(sampler("interval = \"1 ms\"")).assertExitCode(0);
        assertEquals("", run.stderr());
        Samples samples = Samples.of(run);
        long dropped = samples.taken().stream().filter(sample -> sample.has("targets.Busy$Dropped.work")).count();
        assertTrue(dropped >= samples.all() / 2, dropped + " of " + samples.all() + " were in classes that were dropped");
    }

    @EachJdk(from = 21)
    void virtualThreadsAreLeftInPeace(Jdk jdk) {
        for (String engine : List.of("async", "jvmti")) {
            AgentConfig config = sampler("interval = \"1 ms\"\nengine = \"" + engine + "\"");
            Finished run = Program.target(jdk, "targets.VirtualThreads").compare(config);
            assertTrue(Samples.of(run).all() > 0, "samples by " + engine);
        }
    }

    @EachJdk
    void probesAndSamplesStandInOneRecording(Jdk jdk) {
        AgentConfig config = AgentConfig.of("""
                [sampler]
                [[rule]]
                class = "targets.Busy"
                method = "c"
                level = "time"
                """).ungoverned();
        Finished run = Program.target(jdk, "targets.Busy", "chain", "500").withAgent(config).assertExitCode(0);
        assertTrue(run.trace().count("targets.Busy.c") > 0);
        Samples samples = Samples.of(run);
        String line = "targets.Busy.c:" + run.line("line c");
        long inside = samples.taken().stream().filter(sample -> sample.frames().contains(line)).count();
        long all = samplesOfWork(samples);
        assertTrue(all > 20 && inside >= 0.6 * all, inside + " of " + all + " are at " + line);
        assertSamplesLieWithinCalls(run.trace());
    }

    /** Samples and calls have one time: a sample of a method lies within a recorded call of it. */
    private static void assertSamplesLieWithinCalls(Trace trace) {
        List<Trace.Call> calls = trace.callsOf("targets.Busy.c");
        List<Long> times = trace.events("jdk.ExecutionSample").stream()
                .filter(event -> event.getStackTrace().getFrames().stream().anyMatch(frame -> frame.getMethod().getName().equals("c")))
                .map(event -> Trace.nanos(event.getStartTime()))
                .toList();
        long within = times.stream()
                .filter(time -> calls.stream().anyMatch(call -> call.start() - CLOCK_ERROR <= time && time <= call.end() + CLOCK_ERROR))
                .count();
        // A sample of the last instructions of a call may be handed over after its end.
        assertTrue(times.size() > 10 && within >= 0.9 * times.size(), within + " of " + times.size() + " samples lie within a call");
    }

    /** Rules alone record calls and no sample; with a depth of 1 a sample has the innermost method and nothing else. */
    @EachJdk(from = 25)
    void eachKindOfRecordIsThereOnlyIfItIsAskedFor(Jdk jdk) {
        AgentConfig rules = AgentConfig.timed("targets.Busy").ungoverned();
        Trace calls = Program.target(jdk, "targets.Busy", "chain", "100").withAgent(rules).assertExitCode(0).trace();
        assertTrue(calls.count("targets.Busy.c") > 0);
        assertEquals(List.of(), calls.events("jdk.ExecutionSample"));

        Finished run = Program.target(jdk, "targets.Busy", "chain", "300").withAgent(sampler("depth = 1")).assertExitCode(0);
        assertEquals(List.of(), run.trace().calls());
        List<Sample> taken = Samples.of(run).taken();
        assertTrue(taken.size() > 10 && taken.stream().allMatch(sample -> sample.frames().size() == 1), taken.size() + " samples");
    }

    @EachJdk(having = "jfr")
    void jfrAndOurReportCountTheSame(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Busy", "chain", "500").withAgent(sampler("")).assertExitCode(0);
        String file = run.directory().resolve("trace.jfr").toString();
        long taken = Samples.of(run).taken().size();
        String summary = Tool.run(jdk, "jfr", List.of("summary", file)).assertExitCode(0).stdout();
        String line = summary.lines().filter(text -> text.contains("jdk.ExecutionSample")).findFirst().orElse("");
        assertTrue(line.matches("\\s*jdk\\.ExecutionSample\\s+" + taken + "\\s+\\d+.*"), () -> taken + ", not " + line);
        Finished export = Tool.instr(List.of("export", "--samples", "--format", "collapsed", file)).assertExitCode(0);
        long exported = export.stdout().lines()
                .mapToLong(stack -> Long.parseLong(stack.substring(stack.lastIndexOf(' ') + 1)))
                .sum();
        assertEquals(Samples.of(run).all(), exported);
        String report = Tool.instr(List.of("report", "--lines", file)).assertExitCode(0).stdout();
        assertTrue(report.contains("targets.Busy.c:" + run.line("line c")), report);
    }

    /** A signal that is delivered late must find a handler, or it ends the process. */
    @EachJdk(having = "jcmd")
    void attachedDetachedAndAttachedAgain(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        Program program = Program.target(jdk, "targets.Conversation").with("-XX:+EnableDynamicAgentLoading");
        try (Dialog dialog = program.talk(List.of(), directory)) {
            assertEquals("ready", dialog.next());
            for (String name : List.of("first", "second")) {
                Attachment.attach(jdk, dialog, Attachment.prepare(directory, name, sampler("")));
                dialog.ask("work 200000000");
                Attachment.detach(jdk, dialog);
                assertEquals(0, new ProcessBuilder("kill", "-PROF", String.valueOf(dialog.pid())).start().waitFor());
                assertEquals("sum 2001", dialog.ask("work 1000"));
                Samples samples = Samples.of(Attachment.leftBehind(directory, name));
                long main = samples.taken().stream().filter(sample -> sample.has("targets.Conversation.work")).count();
                assertTrue(main >= 5, main + " of " + samples.all() + " samples show what main did, " + name);
                assertTrue(samples.ofThread("main") >= main, "a thread from before the sampler has its name");
            }
            dialog.send("quit");
            dialog.finish().assertExitCode(0);
        }
    }

    /** JDK 25 has a sampler of its own that uses the same signal: the second one must not replace its handler. */
    @EachJdk(from = 25, having = "jfr")
    void anotherProfilerKeepsItsSignal(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        Program program = Program.target(jdk, "targets.Conversation")
                .with("-XX:+EnableDynamicAgentLoading", "-Xlog:disable", "-Xlog:all=error:stderr")
                .with("-XX:StartFlightRecording:jdk.CPUTimeSample#enabled=true,filename=jvm.jfr");
        try (Dialog dialog = program.talk(List.of(), directory)) {
            assertEquals("ready", dialog.next());
            Attachment.attach(jdk, dialog, sampler("").writeTo(directory));
            dialog.ask("work 200000000");
            dialog.send("quit");
            Finished run = dialog.finish().assertExitCode(0);
            assertTrue(run.stderr().contains("another profiler handles SIGPROF"), run.stderr());
            assertEquals("jvmti", Samples.of(run).setting("sampler.engine"));
            assertTrue(Samples.of(run).all() > 5);
            String summary = Tool.run(jdk, "jfr", List.of("summary", directory.resolve("jvm.jfr").toString())).stdout();
            assertTrue(summary.lines().anyMatch(line -> line.matches("\\s*jdk\\.CPUTimeSample\\s+[1-9]\\d*\\s.*")), summary);
        }
    }

    private static AgentConfig sampler(String lines) {
        return AgentConfig.of("[sampler]\n" + lines + "\n");
    }

    private static void assertClose(String nanos, long samples, double tolerance) {
        double expected = Long.parseLong(nanos) / TICK;
        // A few ticks more or less are what the first and the last interval of a thread make.
        assertEquals(expected, samples, tolerance * expected + 4, "samples for " + nanos + " ns");
    }
}
