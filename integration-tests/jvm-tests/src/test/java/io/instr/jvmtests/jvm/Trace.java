package io.instr.jvmtests.jvm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedMethod;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/** A recording, read by the JDK's own reader. */
public record Trace(Path file, List<Call> calls, List<RecordedEvent> others) {

    /**
     * One {@code instr.MethodCall}. Times in nanoseconds; the start counts from some fixed moment. A thread that is being attached has no id
     * yet: then it is 0.
     */
    public record Call(
            String className,
            String method,
            String descriptor,
            String template,
            boolean exact,
            long threadId,
            String threadName,
            long start,
            long duration) {

        public String name() {
            return className + "." + method;
        }

        public long end() {
            return start + duration;
        }
    }

    /** The whole recording; of use up to some millions of calls. */
    public static Trace read(Path file) {
        List<Call> calls = new ArrayList<>();
        List<RecordedEvent> others = new ArrayList<>();
        try (RecordingFile recording = new RecordingFile(file)) {
            while (recording.hasMoreEvents()) {
                RecordedEvent event = recording.readEvent();
                if (event.getEventType().getName().equals("instr.MethodCall")) {
                    calls.add(callOf(event));
                } else {
                    others.add(event);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return new Trace(file, calls, others);
    }

    private static Call callOf(RecordedEvent event) {
        RecordedMethod method = event.getValue("method");
        RecordedThread thread = event.getThread();
        Instant start = event.getStartTime();
        return new Call(
                method.getType().getName(),
                method.getName(),
                method.getDescriptor(),
                event.getString("template"),
                event.getBoolean("exact"),
                thread == null ? 0 : thread.getJavaThreadId(),
                nameOf(thread),
                nanos(start),
                event.getDuration().toNanos());
    }

    /** Returns the name of a thread; an empty one for a thread that had no id yet because it was being attached. */
    public static String nameOf(RecordedThread thread) {
        return thread == null ? "" : thread.getJavaName();
    }

    public static long nanos(Instant time) {
        return time.getEpochSecond() * 1_000_000_000 + time.getNano();
    }

    /** How often each method was called, by {@code class.method}. */
    public Map<String, Long> counts() {
        return calls.stream().collect(Collectors.groupingBy(Call::name, TreeMap::new, Collectors.counting()));
    }

    public long count(String name) {
        return calls.stream().filter(call -> call.name().equals(name)).count();
    }

    public List<Call> callsOf(String name) {
        return calls.stream().filter(call -> call.name().equals(name)).toList();
    }

    public Map<Long, List<Call>> callsByThread() {
        return calls.stream().collect(Collectors.groupingBy(Call::threadId));
    }

    /** Events of another type. */
    public List<RecordedEvent> events(String type) {
        return others.stream().filter(event -> event.getEventType().getName().equals(type)).toList();
    }

    /** Returns the value of a setting of the recorded process; empty if it was not recorded. */
    public String setting(String key) {
        return events("instr.Configuration").stream()
                .filter(event -> event.getString("key").equals(key))
                .map(event -> event.getString("value"))
                .findFirst()
                .orElse("");
    }

    /**
     * Returns the longest time between two ticks of level watch: each longer call is recorded, and its length is right to this time. On a
     * busy machine the thread that ticks may not have run at all before the program ended; then it is unbounded.
     */
    public long longestTick() {
        String longest = setting("watch.tick-max-ns");
        return longest.isEmpty() ? Long.MAX_VALUE : Long.parseLong(longest);
    }
}
