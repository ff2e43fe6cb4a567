package io.instr.jvmtests.jvm;

import java.util.ArrayList;
import java.util.List;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;

/** The samples of a recording, as the JDK's own reader shows them. */
public record Samples(Trace trace, List<Sample> taken, List<RecordedEvent> failed) {

    /** A {@code jdk.ExecutionSample}: frames as {@code class.method:line}, the innermost first. */
    public record Sample(String thread, List<String> frames, boolean truncated) {

        public boolean has(String method) {
            return frames.stream().anyMatch(frame -> frame.startsWith(method + ":"));
        }
    }

    public static Samples of(Finished run) {
        Trace trace = run.trace();
        List<Sample> taken = new ArrayList<>();
        for (RecordedEvent event : trace.events("jdk.ExecutionSample")) {
            List<String> frames = event.getStackTrace().getFrames().stream().map(Samples::describe).toList();
            taken.add(new Sample(Trace.nameOf(event.getThread("sampledThread")), frames, event.getStackTrace().isTruncated()));
        }
        return new Samples(trace, taken, trace.events("instr.FailedSample"));
    }

    private static String describe(RecordedFrame frame) {
        return frame.getMethod().getType().getName() + "." + frame.getMethod().getName() + ":" + frame.getLineNumber();
    }

    /** All ticks, with a stack or without. */
    public long all() {
        return taken.size() + failed.size();
    }

    public long ofThread(String name) {
        return taken.stream().filter(sample -> sample.thread().equals(name)).count()
                + failed.stream().filter(event -> name.equals(Trace.nameOf(event.getThread()))).count();
    }

    /** What the recording says about how the samples were taken. */
    public String setting(String key) {
        return trace.setting(key);
    }
}
