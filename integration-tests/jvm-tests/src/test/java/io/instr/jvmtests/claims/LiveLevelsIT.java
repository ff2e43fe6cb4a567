package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import io.instr.jvmtests.telemetry.OpenMetrics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.DoubleAccumulator;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedMethod;

/** Levels change while the program runs: by request and by the governor. */
class LiveLevelsIT {

    /** Number of the compilation, flags, level 4. */
    private static final Pattern COMPILED_BY_C2 = Pattern.compile("\\]\\s+\\d+[\\sbsn!]+4\\s");
    private static final String STEP = "targets.Conversation.step";

    @EachJdk
    void eachCallIsRecordedAtTheLevelOfItsTime(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path socket;
        try (Dialog program = conversation(jdk, "[control]\nlive = true\n", "off", directory)) {
            socket = ControlSocket.path(program);
            program.ask("work 1000");
            assertEquals("{\"changed\":1,\"live\":10,\"fixed\":[]}", ControlSocket.level(program, STEP, "time"));
            program.ask("work 500");
            ControlSocket.level(program, "targets.**", "watch");
            program.ask("work 100");
            ControlSocket.level(program, "targets.Conversation.*", "off");
            program.ask("work 300");
            ControlSocket.level(program, STEP, "time");
            program.ask("work 7");
            assertEquals("{\"changed\":0,\"live\":10,\"fixed\":[]}", ControlSocket.level(program, "other.**", "time"));
            assertTrue(ControlSocket.ask(program, "nonsense").contains("error"));
            String live = "\"live\":[{\"category\":\"catch-all\",\"levels\":{\"off\":9,\"time\":1}}]";
            assertTrue(ControlSocket.status(program).contains(live), ControlSocket.status(program));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        long exact = trace.callsOf(STEP).stream().filter(Trace.Call::exact).count();
        assertEquals(507, exact, "calls while the level was time");
        assertTrue(trace.callsOf("targets.Conversation.work").stream().noneMatch(Trace.Call::exact));
        assertFalse(Files.exists(socket), "the socket goes with the program");
    }

    /** The level of all methods whose template has a category; other categories stay as they are. */
    @EachJdk(oldestAndNewest = true)
    void aCategoryHasItsLevel(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        String rules = """
                [control]
                live = true
                [[rule]]
                class = "targets.Conversation"
                method = "step(int)"
                template = "jdbc"
                level = "off"
                """;
        try (Dialog program = conversation(jdk, rules, "off", directory)) {
            program.ask("work 100");
            assertTrue(ControlSocket.level(program, "category:database", "time").startsWith("{\"changed\":1,"), "one method");
            program.ask("work 70");
            ControlSocket.level(program, "category:catch-all", "time");
            ControlSocket.level(program, "category:database", "off");
            program.ask("work 30");
            String error = ControlSocket.level(program, "category:databse", "off");
            assertTrue(error.contains("there are catch-all, database, "), error);
            // Until the records have been drained.
            String status = ControlSocket.await(program, now -> now.contains("\"method\""));
            assertTrue(status.contains("\"category\":\"database\",\"levels\":{\"off\":1}"), status);
            assertTrue(status.contains("\"method\":\"" + STEP + "\",\"category\":\"database\""), status);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        assertEquals(70, trace.count(STEP));
        assertEquals(1, trace.count("targets.Conversation.work"), "the category catch-all was switched on for the last");
    }

    /** What a statement says is recorded at each level but off; at level watch its times are those of ticks. */
    @EachJdk
    void statementsWithTheirTextFollowTheLevel(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        String rules = """
                [control]
                live = true
                [watch]
                tick-us = 1000
                [[rule]]
                class = "targets.Conversation"
                method = "query(String)"
                template = "jdbc"
                level = "off"
                """;
        try (Dialog program = conversation(jdk, rules, "off", directory)) {
            for (String level : new String[] {"off", "watch", "time", "full", "burst", "off", "time"}) {
                ControlSocket.level(program, "category:database", level);
                program.ask("query at-level-" + level);
                if (level.equals("watch")) {
                    // On a busy machine a tick may be later than the statement is long.
                    Awaiting.await(() -> {
                        program.ask("query at-level-watch");
                        return ControlSocket.calls(ControlSocket.status(program));
                    }, calls -> calls > 0);
                }
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        List<String> recorded = trace(directory).events("instr.Statement").stream()
                .map(event -> event.getString("statement") + " " + event.getBoolean("exact"))
                .filter(statement -> !statement.contains("burst"))
                .toList();
        List<String> watched = recorded.stream().takeWhile("at-level-watch false"::equals).toList();
        assertFalse(watched.isEmpty(), recorded::toString);
        assertEquals(List.of("at-level-time true", "at-level-full true", "at-level-time true"), recorded.subList(watched.size(), recorded.size()));
    }

    /** Level full and back while the program runs: its figures tell of the calls in between. */
    @EachJdk
    void levelFullIsSetAndLeft(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        String tables = "[control]\nlive = true\n[governor]\nenabled = false\n[metrics]\nopenmetrics = \"127.0.0.1:0\"\n";
        try (Dialog program = conversation(jdk, tables, "time", directory)) {
            int port = OpenMetrics.portOf(program);
            program.ask("work 1000");
            ControlSocket.level(program, STEP, "full");
            program.ask("work 300");
            ControlSocket.level(program, STEP, "watch");
            program.ask("work 1000");
            ControlSocket.level(program, STEP, "full");
            program.ask("work 40");
            assertEquals("failed 7", program.ask("fail 7"));
            ControlSocket.level(program, STEP, "time");
            program.ask("work 2");
            OpenMetrics page = OpenMetrics.scrape(port);
            String[] full = {"\"" + STEP + "\"", "instr_level=\"full\""};
            assertEquals(347, page.value("instr_method_started_total", full));
            assertEquals(7, page.value("instr_method_errors_total", full));
            assertEquals(347, page.value("instr_method_measured_total", full));
            assertEquals(0, page.value("instr_method_active", full));
            // To which part of the time the figures of each series apply.
            String time = "instr_method_level_time_seconds";
            OpenMetrics parts = OpenMetrics.await(port, now -> now.has(time, full) && now.has(time, "\"" + STEP + "\"", "instr_level=\"time\""));
            assertTrue(parts.value(time, full) > 0);
            assertTrue(ControlSocket.status(program).contains("\"changes\":4}"), "four changes of level");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        long exact = trace(directory).callsOf(STEP).stream().filter(Trace.Call::exact).count();
        assertEquals(1000 + 300 + 40 + 7 + 2, exact);
    }

    /** Also while the process is stopped in between: then a window closes by itself, at the time that it says. */
    @EachJdk(oldestAndNewest = true)
    void inBurstsTheCallsThatBeginInAWindowAreRecordedAndNoOthers(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        // Without the governor, who after two seconds of such calls removes the probe.
        String tables = "[control]\nlive = true\nburst-open-ms = 2\nburst-period-ms = 20\n[governor]\nenabled = false\n";
        long calls = 0;
        String status = "";
        try (Dialog program = conversation(jdk, tables, "burst", directory)) {
            for (int round = 0; round < 1000 && windows(status) < 60; round++) {
                for (int i = 0; i < 20; i++) {
                    program.ask("work 50000");
                    calls += 50_000;
                }
                signal(program, "-STOP");
                signal(program, "-CONT");
                status = ControlSocket.status(program);
            }
            ControlSocket.level(program, "targets.**", "off");
            program.ask("work 50000");
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertTrue(status.contains("\"bursts\":{\"open_ms\":2,\"period_ms\":20,"), status);
        Trace trace = trace(directory);
        List<long[]> windows = trace.events("instr.BurstWindow").stream()
                .map(event -> new long[] {Trace.nanos(event.getStartTime()), event.getDuration().toNanos()})
                .toList();
        List<Trace.Call> steps = trace.callsOf(STEP);
        assertTrue(steps.size() > 100 && steps.size() < calls / 2, steps.size() + " of " + calls + " calls");
        for (Trace.Call call : steps) {
            assertEquals("timed in bursts", call.template());
            assertTrue(call.exact());
            boolean isInside = windows.stream().anyMatch(at -> at[0] <= call.start() && call.start() <= at[0] + at[1]);
            assertTrue(isInside, () -> call + " began in none of " + windows.size() + " windows");
        }
        String report = Tool.instr(List.of("report", directory.resolve("trace.jfr").toString())).stdout();
        assertTrue(report.contains("recorded in bursts") && report.contains("nothing is scaled"), report);
        assertTrue(report.contains(STEP + " in bursts"), report);
    }

    private static int windows(String status) {
        Matcher number = Pattern.compile("\"windows\":(\\d+)").matcher(status);
        return number.find() ? Integer.parseInt(number.group(1)) : 0;
    }

    private static void signal(Dialog program, String signal) throws Exception {
        assertEquals(0, new ProcessBuilder("kill", signal, Long.toString(program.pid())).start().waitFor());
    }

    /** Otherwise each change would throw thousands of methods back to the interpreter. */
    @EachJdk
    void aChangeOfLevelThrowsNoCompiledMethodAway(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path log = directory.resolve("jit.txt");
        // Without the governor: removing a probe throws code away.
        String tables = "[control]\nlive = true\n[governor]\nenabled = false\n";
        try (Dialog program = conversation(jdk, tables, "off", directory, "-Xlog:jit+compilation=debug:file=" + log)) {
            for (int i = 0; i < 20; i++) {
                program.ask("work 100000");
            }
            for (String level : new String[] {"watch", "time", "off", "burst", "full", "time", "watch"}) {
                ControlSocket.level(program, "targets.**", level);
                program.ask("work 20000");
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        List<String> thrownAway = Files.readAllLines(log).stream()
                .filter(line -> line.contains("made not entrant") && COMPILED_BY_C2.matcher(line).find())
                .filter(line -> line.contains("targets.Conversation::") || line.contains("java.instr.Live::"))
                .toList();
        assertEquals(List.of(), thrownAway);
    }

    @EachJdk(oldestAndNewest = true)
    void theGovernorSetsTheHottestMethodToWatchAndSaysSo(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        AtomicLong calls = new AtomicLong();
        try (Dialog program = conversation(jdk, "[governor]\nbudget-percent = 3\n", "time", directory)) {
            String status = Awaiting.await(() -> {
                program.ask("work 200000");
                calls.addAndGet(200_000);
                return ControlSocket.status(program);
            }, now -> now.contains(STEP + " set to watch"));
            assertTrue(status.contains("\"budget_percent\":3"), status);
            String ceilings = ControlSocket.ask(program, "{\"ask\":\"claims\"}");
            assertTrue(ceilings.contains("\"owner\":\"governor\",\"role\":\"ceiling\",\"class\":\"targets.Conversation\",\"method\":\"step\",\"level\":\"watch\""), ceilings);
            for (int round = 0; round < 10; round++) {
                program.ask("work 200000");
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        assertTrue(trace.callsOf(STEP).stream().filter(Trace.Call::exact).count() <= calls.get(), "the rest is not timed");
        assertTrue(trace.callsOf("targets.Conversation.work").stream().allMatch(Trace.Call::exact), "rare calls stay exact");
        List<String> claims = trace.events("instr.Claim").stream()
                .filter(event -> ((RecordedMethod) event.getValue("method")).getName().equals("step"))
                .map(event -> event.getString("owner") + ": " + event.getString("from") + " to " + event.getString("to"))
                .toList();
        assertEquals("governor: time to watch", claims.get(0));
        String report = Tool.instr(List.of("report", directory.resolve("trace.jfr").toString())).stdout();
        assertTrue(report.contains("not at one level all the time") && report.contains(STEP + " (first "), report);
    }

    /** A rule says nothing but its level, and short calls are made all the time: the program must not pay for that. */
    @EachJdk(oldestAndNewest = true)
    void aRuleAtLevelFullIsKeptWithinTheBudgetAndWhatAPersonSetsIsShown(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        String tables = "[metrics]\nopenmetrics = \"127.0.0.1:0\"\n[governor]\ngc-percent = 0\n";
        try (Dialog program = conversation(jdk, tables, "full", directory)) {
            // Twice the price of level time at least: both system calls are in it.
            DoubleAccumulator full = new DoubleAccumulator(Math::max, 0);
            String status = workUntil(program, now -> {
                full.accumulate(ControlSocket.number(now, "nanos_per_full_call"));
                return now.contains(STEP + " set to watch");
            });
            assertTrue(full.get() > 2 * ControlSocket.number(status, "nanos_per_call"), status);
            status = workUntil(program, now -> ControlSocket.number(now, "percent") <= 3);
            assertTrue(status.contains("\"warnings\":[]"), status);

            ControlSocket.level(program, STEP, "full");
            status = workUntil(program, now -> ControlSocket.number(now, "kept_percent") > 3);
            assertTrue(status.contains(STEP + " takes ") && status.contains("its level was set by request"), status);
            assertTrue(ControlSocket.level(program, STEP, "auto").startsWith("{\"changed\":1,"));
            workUntil(program, now -> now.lastIndexOf(STEP + " set to watch") > now.indexOf("handed back"));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static String workUntil(Dialog program, Predicate<String> isAsWanted) {
        return ControlSocket.await(program, status -> {
            program.ask("work 100000");
            return isAsWanted.test(status);
        });
    }

    @EachJdk(oldestAndNewest = true)
    void aRuleCanKeepTheGovernorOut(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        long calls = 0;
        try (Dialog program = conversation(jdk, "[governor]\nbudget-percent = 1\n", "time\"\ngoverned = false #", directory)) {
            for (int round = 0; round < 10; round++) {
                program.ask("work 200000");
                calls += 200_000;
                // A drainer that is late must not make the program lose records.
                ControlSocket.awaitCalls(program, calls);
            }
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertEquals(calls, trace(directory).count(STEP));
    }

    private static Dialog conversation(Jdk jdk, String tables, String level, Path directory, String... options) throws IOException {
        AgentConfig config = AgentConfig.of(tables + """
                [[rule]]
                class = "targets.Conversation"
                level = "%s"
                """.formatted(level));
        return Program.target(jdk, "targets.Conversation").with(options).talkWithAgent(config, directory);
    }

    private static Trace trace(Path directory) {
        return Finished.in(directory).trace();
    }
}
