package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import io.instr.jvmtests.jvm.Trace;
import io.instr.jvmtests.telemetry.OpenMetrics;
import java.io.IOException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Every level of the built-in templates of every category, without {@code live = true}: each does what the level says. */
class EveryCategoryIT {

    private static final String CLASS = "targets.EveryCategory$";
    /** The method that each command of the program calls. */
    private static final Map<String, String> METHODS = methods();

    private static Map<String, String> methods() {
        Map<String, String> methods = new LinkedHashMap<>();
        methods.put("plain", CLASS + "Plain.call");
        methods.put("statement", CLASS + "Statement.execute");
        methods.put("prepared", CLASS + "Prepared.execute");
        methods.put("javax", "javax.servlet.http.HttpServlet.service");
        methods.put("jakarta", "jakarta.servlet.http.HttpServlet.service");
        methods.put("receive", CLASS + "Transfer.receive");
        methods.put("send", CLASS + "Transfer.send");
        return methods;
    }

    private static AgentConfig config(String level) {
        StringBuilder text = new StringBuilder("""
                [governor]
                enabled = false
                [metrics]
                openmetrics = "127.0.0.1:0"
                [[rule]]
                preset = "http-server"
                level = "%s"
                [[rule]]
                class = "targets.EveryCategory$Connection"
                template = "jdbc-prepare"
                level = "%s"
                """.formatted(level, level));
        String[][] rules = {
            {"Plain", "call", "timed"},
            {"Statement", "execute", "jdbc"},
            {"Prepared", "execute", "jdbc-prepared"},
            {"Transfer", "receive", "socket"},
            {"Transfer", "send", "socket-write"},
        };
        for (String[] rule : rules) {
            text.append("""
                    [[rule]]
                    class = "targets.EveryCategory$%s"
                    method = "%s"
                    template = "%s"
                    level = "%s"
                    """.formatted(rule[0], rule[1], rule[2], level));
        }
        return AgentConfig.of("", "on_error = \"abort\"", text.toString());
    }

    private static Dialog start(Jdk jdk, AgentConfig config) throws IOException {
        Path directory = RunDirectories.create();
        return Program.target(jdk, "targets.EveryCategory").with("-Xverify:all").talkWithAgent(config, directory);
    }

    /** Processor time in nanoseconds and bytes, as the program knows them. */
    private static long[] ask(Dialog program, String line) {
        String[] words = program.ask(line).split(" ");
        assertEquals(line.split(" ")[0], words[0]);
        return new long[] {Long.parseLong(words[1]), Long.parseLong(words[2])};
    }

    @EachJdk
    void atLevelFullEachRecordsProcessorTimeAndBytesBesideItsOwn(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("full"))) {
            int port = OpenMetrics.portOf(program);
            Map<String, long[]> known = new LinkedHashMap<>();
            int millis = 100;
            for (String word : METHODS.keySet()) {
                // Different for each, so that figures cannot be mistaken for those of another.
                known.put(word, ask(program, word + " " + millis + " " + millis + " 50000"));
                millis += 30;
            }
            OpenMetrics page = OpenMetrics.scrape(port);
            known.forEach((word, figures) -> {
                String[] full = {"\"" + METHODS.get(word) + "\"", "instr_level=\"full\""};
                assertEquals(1, page.value("instr_method_started_total", full), word);
                assertEquals(1, page.value("instr_method_measured_total", full), word);
                assertEquals(0, page.value("instr_method_active", full), word);
                near(figures[0] / 1e9, page.value("instr_method_cpu_time_seconds_total", full), 0.05, word + ", processor time");
                near(figures[1], page.value("instr_method_allocated_bytes_total", full), 0.01, word + ", bytes");
            });
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertEquals("", run.stderr(), "no warning");
            assertEquals(0, run.stats().lost());
            assertOwnDataIsThere(run.trace());
        }
    }

    private static void assertOwnDataIsThere(Trace trace) {
        METHODS.forEach((word, method) -> assertEquals(1, trace.count(method), word));
        List<String> statements = trace.events("instr.Statement").stream().map(event -> event.getString("statement")).toList();
        assertEquals(List.of("statement * from shop", "prepared * from shop"), statements);
        List<String> requests = trace.events("instr.HttpRequest").stream()
                .map(event -> event.getString("httpMethod") + " " + event.getString("path") + " " + event.getInt("status"))
                .toList();
        assertEquals(List.of("PUT /javax 201", "PUT /jakarta 202"), requests);
        List<Long> bytes = trace.events("instr.SocketTransfer").stream().map(event -> event.getLong("bytes")).toList();
        assertEquals(List.of(55L, 77L), bytes);
    }

    /** At level watch every call that is longer than a tick; at level off none. */
    @EachJdk(oldestAndNewest = true)
    void atLevelWatchTicksAreWhatCountsAndAtLevelOffNothing(Jdk jdk) throws IOException {
        // On a busy machine a tick may be later than a call is long.
        Trace trace = Awaiting.await(() -> atLevelWatchAndThenAtLevelOff(jdk), watched -> watched.longestTick() < 200_000_000);
        assertOwnDataIsThere(trace);
        assertTrue(trace.calls().stream().noneMatch(Trace.Call::exact), () -> "exact: " + trace.calls());
    }

    private static Trace atLevelWatchAndThenAtLevelOff(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("watch"))) {
            for (String word : METHODS.keySet()) {
                ask(program, word + " 200 1 10");
            }
            ControlSocket.level(program, "targets.**", "off");
            ControlSocket.level(program, "category:web-service", "off");
            for (String word : List.of("statement", "prepared", "javax", "jakarta", "receive", "send")) {
                ask(program, word + " 200 1 10");
            }
            program.send("quit");
            return program.finish().assertExitCode(0).trace();
        }
    }

    private static void near(double expected, double actual, double ratio, String what) {
        assertTrue(Math.abs(actual - expected) <= ratio * expected, what + ": " + actual + " instead of " + expected);
    }
}
