package io.instr.jvmtests.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace.Call;
import io.instr.jvmtests.telemetry.OpenMetrics;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Figures of a running program against what the program knows of itself. */
class MetricsIT {

    private static final String LOAD = "targets.KnownLoad.";

    private static AgentConfig config(String metrics, String level) {
        return AgentConfig.verbatim("""
                [trace]
                file = "trace.jfr"
                [agent]
                stats = "stats.json"
                [governor]
                enabled = false
                [metrics]
                openmetrics = "127.0.0.1:0"
                %s
                [[rule]]
                class = "targets.KnownLoad"
                method = ["paced", "failing", "burning", "allocating", "held", "recurse"]
                level = "%s"
                [[rule]]
                preset = "socket"
                """.formatted(metrics, level));
    }

    private static Dialog start(Jdk jdk, AgentConfig config, String... options) throws IOException {
        Path directory = RunDirectories.create();
        return Program.target(jdk, "targets.KnownLoad").with(options).talkWithAgent(config, directory);
    }

    /** Returns the numbers after the first word of the answer. */
    private static long[] ask(Dialog program, String line) {
        String[] words = program.ask(line).split(" ");
        assertEquals(line.split(" ")[0], words[0]);
        long[] numbers = new long[words.length - 1];
        for (int i = 0; i < numbers.length; i++) {
            numbers[i] = Long.parseLong(words[i + 1]);
        }
        return numbers;
    }

    private static String named(String method) {
        return "code_function_name=\"" + LOAD + method + "\"";
    }

    private static void near(double expected, double actual, double ratio, String what) {
        assertTrue(Math.abs(actual - expected) <= ratio * expected, what + ": " + actual + " instead of " + expected);
    }

    @EachJdk
    void countAverageRateAndConcurrencyAreThoseOfTheLoad(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("interval = \"1 s\"", "time"))) {
            int port = OpenMetrics.portOf(program);
            // Four threads that do nothing else. A busy machine makes the calls longer, not fewer at a time; and where the drainer is late, an
            // interval lacks calls that the next one then has as well. So in some interval the figures are those of four threads.
            program.send("begin 4 20");
            assertEquals("begin 4", program.next());
            OpenMetrics full = OpenMetrics.await(port, MetricsIT::isOfFourThreads);
            double mean = full.value("instr_method_duration_mean_seconds", named("paced"));
            assertTrue(mean >= 0.02, "calls sleep 20 ms, mean " + mean);
            double concurrency = full.value("instr_method_concurrency", named("paced"));
            near(concurrency, full.value("instr_method_rate", named("paced")) * mean, 0.001, "Little's law");

            long[] own = ask(program, "end");
            long calls = own[0];
            double seconds = own[1] / 1e9;
            OpenMetrics page = OpenMetrics.await(port, now -> now.value("instr_method_duration_seconds_count", named("paced")) == calls);
            near(seconds, page.value("instr_method_duration_seconds_sum", named("paced")), 0.02, "time in calls");
            // Half of the calls take the median or longer, so it is at most twice the mean. Its bucket is right to 2.2 %.
            double median = page.value("instr_method_duration_seconds", named("paced"), "quantile=\"0.5\"");
            assertTrue(median > 0.02 * 0.978 && median < 2 * seconds / calls * 1.022, "median " + median + " of a mean of " + seconds / calls);
            assertEquals(0, page.value("instr_records_lost_total"));
            assertTrue(page.has("instr_method_rate", named("paced"), "instr_precision=\"exact\"", "instr_level=\"time\""), page.text());
            OpenMetrics.await(port, now -> now.value("instr_method_rate", named("paced")) == 0
                    && now.value("instr_method_concurrency", named("paced")) == 0);

            // Also such calls as take no time.
            ask(program, "fail 12345");
            ask(program, "allocate 100 10");
            OpenMetrics live = OpenMetrics.await(port, now -> now.has("instr_method_duration_seconds_count", named("allocating"))
                    && now.value("instr_method_duration_seconds_count", named("allocating")) == 100);
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            // Both sinks of the drainer saw the same calls: the metrics and the file have the same figures.
            Map<String, Long> counts = run.trace().counts();
            assertEquals(Set.of(LOAD + "paced", LOAD + "failing", LOAD + "allocating"), counts.keySet());
            counts.forEach((method, count) ->
                    assertEquals((double) count, live.value("instr_method_duration_seconds_count", "\"" + method + "\""), method));
            Map<String, Long> nanos = run.trace().calls().stream()
                    .collect(Collectors.groupingBy(Call::name, Collectors.summingLong(Call::duration)));
            nanos.forEach((method, sum) ->
                    assertEquals(sum / 1e9, live.value("instr_method_duration_seconds_sum", "\"" + method + "\""), 1e-9, method));
        }
    }

    /** Returns whether the figures can be those of four threads, each of which ends a call every 20 ms at most and began one before the interval. */
    private static boolean isOfFourThreads(OpenMetrics page) {
        if (!page.has("instr_method_concurrency", named("paced"))) {
            return false;
        }
        double concurrency = page.value("instr_method_concurrency", named("paced"));
        double longest = page.value("instr_method_duration_max_seconds", named("paced"));
        double rate = page.value("instr_method_rate", named("paced"));
        return concurrency > 3.3 && concurrency <= 4 * (1 + longest) && rate <= 4 * (1 / 0.02 + 1);
    }

    @EachJdk(oldestAndNewest = true)
    void callersAndCalleesAreReported(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("callers = true", "time"))) {
            int port = OpenMetrics.portOf(program);
            ask(program, "recurse 5");
            ask(program, "recurse 3");
            String[] pair = {"instr_caller=\"" + LOAD + "recurse\"", named("recurse")};
            // Of five and of three calls in one another all but the outermost have a caller of the same name.
            OpenMetrics page = OpenMetrics.await(port, now -> now.has("instr_method_calls_total", pair)
                    && now.value("instr_method_calls_total", pair) == 6);
            // Each sleeps 3 ms, and so do those below it: 4 + 3 + 2 + 1 and 2 + 1 of them.
            assertTrue(page.value("instr_method_calls_time_seconds_total", pair) >= 13 * 0.003, page.text());
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    @EachJdk
    void aHeapThatGrowsWithEachMajorCollectionIsSuspected(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("", "time"), "-Xmx64m", "-XX:+UseSerialGC")) {
            int port = OpenMetrics.portOf(program);
            program.ask("collect");
            OpenMetrics.await(port, page -> page.has("instr_heap_lowest_bytes"));
            assertEquals(0, OpenMetrics.scrape(port).value("instr_heap_growth_bytes"));
            double lowest = 0;
            for (int i = 0; i < 7; i++) {
                ask(program, "leak 2000000");
                double before = lowest;
                lowest = OpenMetrics.await(port, page -> page.value("instr_heap_lowest_bytes") > before + 1_000_000)
                        .value("instr_heap_lowest_bytes");
            }
            double growth = OpenMetrics.scrape(port).value("instr_heap_growth_bytes");
            assertTrue(growth > 8_000_000 && growth < 14_000_000, "five times 2 MB: " + growth);
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertTrue(run.stderr().contains("instr: perhaps a memory leak"), run.stderr());
        }
    }

    @EachJdk
    void fullKnowsWhatRunsWhatIsStalledWhatFailedAndWhatItCost(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("stalled-after = \"300 ms\"", "full"))) {
            int port = OpenMetrics.portOf(program);
            ask(program, "hold 3 0");
            OpenMetrics held = OpenMetrics.scrape(port);
            assertEquals(3, held.value("instr_method_active", named("held")));
            assertEquals(3, held.value("instr_method_started_total", named("held")));
            OpenMetrics stalled = OpenMetrics.await(port, page -> page.value("instr_method_stalled", named("held")) > 0
                    && page.value("instr_method_active_longest_seconds", named("held")) > 0.6);
            assertEquals(3, stalled.value("instr_method_stalled", named("held")));
            if (jdk.feature() >= 21) {
                ask(program, "hold 20 1");
                assertEquals(23, OpenMetrics.scrape(port).value("instr_method_active", named("held")));
            }
            long ended = ask(program, "release")[0];
            OpenMetrics released = OpenMetrics.await(port, page -> page.has("instr_method_duration_seconds_count", named("held"))
                    && page.value("instr_method_duration_seconds_count", named("held")) == ended);
            assertEquals(0, released.value("instr_method_active", named("held")));
            assertEquals(0, released.value("instr_method_stalled", named("held")));
            assertEquals(0, released.value("instr_method_active_longest_seconds", named("held")));
            assertEquals(3, released.value("instr_method_measured_total", named("held")), "virtual threads are not measured");

            long failed = ask(program, "fail 1000")[0];
            long burned = ask(program, "burn 400")[0];
            long allocated = ask(program, "allocate 1000 100000")[0];
            OpenMetrics page = OpenMetrics.scrape(port);
            assertEquals(failed, page.value("instr_method_errors_total", named("failing")));
            assertEquals(failed, page.value("instr_exceptions_total", "exception_type=\"java.lang.IllegalStateException\""));
            assertEquals(0, page.value("instr_method_errors_total", named("burning")));
            near(burned / 1e9, page.value("instr_method_cpu_time_seconds_total", named("burning")), 0.02, "processor time");
            assertTrue(page.value("instr_method_cpu_time_seconds_total", named("held")) < 0.05, page.text());
            near(allocated, page.value("instr_method_allocated_bytes_total", named("allocating")), 0.001, "bytes");
            assertEquals(0, page.value("instr_method_unplaced_total", named("failing")));

            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertEquals(failed, run.trace().count(LOAD + "failing"));
            assertEquals(0, run.stats().lost());
        }
    }

    @EachJdk
    void theEnvironmentMovesAsTheProgramMovesIt(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("", "time"))) {
            int port = OpenMetrics.portOf(program);
            OpenMetrics before = OpenMetrics.scrape(port);
            ask(program, "hold 10 0");
            ask(program, "allocate 2000 100000");
            long talked = ask(program, "talk 300000")[0];
            assertEquals("collect done", program.ask("collect"));
            // The sender is another thread, whose records may be drained later than the reader's; and it may still be ending.
            OpenMetrics after = OpenMetrics.await(port, page -> hasTransferred(page, "\"read\"", talked)
                    && hasTransferred(page, "\"write\"", talked)
                    && page.value("jvm_thread_count", "\"false\"") <= before.value("jvm_thread_count", "\"false\"") + 10);

            String limit = "jvm_memory_limit_bytes";
            assertTrue(after.value(limit) > 200e6 && after.value(limit) <= 256 << 20, "-Xmx256m, limit " + after.value(limit));
            assertTrue(after.value("jvm_memory_used_bytes") < after.value("jvm_memory_committed_bytes"));
            assertTrue(after.value("jvm_memory_used_bytes") > 1e5);
            double daemons = after.value("jvm_thread_count", "\"true\"");
            assertTrue(daemons >= 2, "daemon threads: " + daemons);
            assertEquals(10, after.value("jvm_thread_count", "\"false\"") - before.value("jvm_thread_count", "\"false\""));
            assertTrue(collections(after) > collections(before), after.text());
            assertTrue(after.value("jvm_class_count") > 400);
            assertEquals(after.value("jvm_class_loaded_total") - after.value("jvm_class_unloaded_total"), after.value("jvm_class_count"));
            assertEquals(talked, after.value("instr_socket_io_bytes_total", "\"read\""));
            assertEquals(talked, after.value("instr_socket_io_bytes_total", "\"write\""));
            assertTrue(after.value("process_cpu_time_seconds_total") > before.value("process_cpu_time_seconds_total"));
            assertTrue(after.value("process_memory_usage_bytes") > 10e6);

            ask(program, "release");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static boolean hasTransferred(OpenMetrics page, String direction, long bytes) {
        return page.has("instr_socket_io_bytes_total", direction) && page.value("instr_socket_io_bytes_total", direction) >= bytes;
    }

    private static double collections(OpenMetrics page) {
        return page.samples().entrySet().stream()
                .filter(sample -> sample.getKey().startsWith("jvm_gc_duration_seconds_count"))
                .mapToDouble(sample -> sample.getValue())
                .sum();
    }

    @EachJdk(oldestAndNewest = true)
    void withoutATraceFileTheFiguresAreThereAllTheSame(Jdk jdk) throws IOException {
        AgentConfig config = AgentConfig.verbatim(config("", "time").text().replace("[agent]", "write = false\n[agent]"));
        try (Dialog program = start(jdk, config)) {
            int port = OpenMetrics.portOf(program);
            ask(program, "fail 5000");
            OpenMetrics.await(port, page -> page.has("instr_method_duration_seconds_count", named("failing"))
                    && page.value("instr_method_duration_seconds_count", named("failing")) == 5000);
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertFalse(Files.exists(run.directory().resolve("trace.jfr")));
            assertEquals(5000, run.stats().figure("records"));
        }
    }

    @EachJdk(oldestAndNewest = true)
    void watchReportsEstimatesAsEstimates(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("", "watch"))) {
            int port = OpenMetrics.portOf(program);
            // Every call that is longer than a tick is recorded; on a busy machine some tick may be later than that.
            OpenMetrics page = Awaiting.await(() -> {
                ask(program, "steady 1 100 1");
                return OpenMetrics.scrape(port);
            }, now -> now.has("instr_method_duration_seconds_count", named("paced"))
                    && now.value("instr_method_duration_seconds_count", named("paced")) >= 4);
            assertTrue(page.has("instr_method_duration_seconds_sum", named("paced"), "instr_precision=\"estimate\""), page.text());
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    @EachJdk(having = "jcmd")
    void callsThatRunWhileTheAgentGoesAreCountedToTheirEnd(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = Program.target(jdk, "targets.KnownLoad").with("-XX:+EnableDynamicAgentLoading").talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            Attachment.attach(jdk, program, Attachment.prepare(directory, "first", config("", "full")));
            int first = OpenMetrics.portOf(program);
            ask(program, "hold 3 0");
            assertEquals(3, OpenMetrics.scrape(first).value("instr_method_active", named("held")));
            Attachment.detach(jdk, program);
            assertEquals(3, ask(program, "release")[0]);

            Attachment.attach(jdk, program, Attachment.prepare(directory, "second", config("", "full")));
            int second = OpenMetrics.portOf(program);
            ask(program, "hold 2 0");
            assertEquals(2, OpenMetrics.scrape(second).value("instr_method_active", named("held")));
            ask(program, "release");
            assertEquals(0, OpenMetrics.scrape(second).value("instr_method_active", named("held")));
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertEquals("", run.stderr());
        }
    }

    private static AgentConfig at(int port) {
        return AgentConfig.verbatim(config("", "time").text().replace("127.0.0.1:0", "127.0.0.1:" + port));
    }

    @EachJdk(oldestAndNewest = true)
    void aPortInUseIsReportedAndTheProgramRunsOn(Jdk jdk) throws IOException {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Dialog program = start(jdk, at(taken.getLocalPort()))) {
            assertEquals(10, ask(program, "fail 10")[0]);
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertTrue(run.stderr().contains("127.0.0.1:" + taken.getLocalPort()), run.stderr());
            assertTrue(run.stderr().contains("runs on without this page"), run.stderr());
            assertEquals(10, run.trace().count(LOAD + "failing"));
        }
    }

    @EachJdk(oldestAndNewest = true)
    void anAddressThatOthersCanReachNeedsToBeWanted(Jdk jdk) throws IOException {
        AgentConfig config = AgentConfig.verbatim(config("", "time").text().replace("127.0.0.1", "0.0.0.0"));
        try (Dialog program = start(jdk, config)) {
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertTrue(run.stderr().contains("allow-remote = true"), run.stderr());
            assertFalse(Files.exists(run.directory().resolve("trace.jfr")));
        }
    }
}
