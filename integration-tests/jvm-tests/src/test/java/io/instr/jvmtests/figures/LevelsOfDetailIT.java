package io.instr.jvmtests.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import io.instr.jvmtests.telemetry.OpenMetrics;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jdk.jfr.consumer.RecordedEvent;

/** Few aspects of a method's calls or many, changed by a reload while the program runs. */
class LevelsOfDetailIT {

    private static final String LOW = "level = \"time\"\n";
    private static final String HIGH = "level = \"full\"\narguments = \"all\"\n";
    private static final List<String> ASPECTS = List.of("errors_total", "cpu_time_seconds_total", "allocated_bytes_total");

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true)
    void aLowLevelCountsAndTimesAHighOneAddsArgumentsExceptionsProcessorTimeAndAllocation(Jdk jdk) throws IOException {
        write(LOW);
        try (Dialog program = Program.target(jdk, "targets.KnownLoad").talk(List.of(Program.agentOption("instr.toml")), directory)) {
            assertEquals("ready", program.next());
            int port = OpenMetrics.portOf(program);
            load(program, 10);
            OpenMetrics low = awaitCalls(port, "time", 10);
            assertTrue(low.value("instr_method_duration_seconds_sum", of("burning")) >= 0.02, low.text());
            for (String aspect : ASPECTS) {
                assertFalse(low.has("instr_method_" + aspect, of("burning")), aspect);
            }

            reload(program, HIGH);
            load(program, 5);
            OpenMetrics high = awaitCalls(port, "full", 5);
            assertTrue(high.value("instr_method_duration_seconds_sum", of("burning"), "instr_level=\"full\"") >= 0.02, high.text());
            assertEquals(5, high.value("instr_method_errors_total", of("failing")));
            assertTrue(high.value("instr_method_cpu_time_seconds_total", of("burning")) >= 0.02, high.text());
            assertTrue(high.value("instr_method_allocated_bytes_total", of("allocating")) >= 5 * 100_000, high.text());

            reload(program, LOW);
            load(program, 3);
            OpenMetrics lowAgain = awaitCalls(port, "time", 13);
            assertEquals(5, lowAgain.value("instr_method_errors_total", of("failing")));
            program.send("quit");
            Trace trace = program.finish().assertExitCode(0).trace();
            assertEquals(18, trace.count("targets.KnownLoad.allocating"));
            List<String> values = trace.events("instr.CallArguments").stream().map((RecordedEvent event) -> event.getString("arguments")).toList();
            assertEquals(5, values.stream().filter("bytes=100000"::equals).count(), values.toString());
        }
    }

    /** Exceptions, 20 ms of processor time, 100,000 bytes a call. */
    private static void load(Dialog program, int calls) {
        program.ask("fail " + calls);
        program.ask("burn 20");
        program.ask("allocate " + calls + " 100000");
    }

    private static OpenMetrics awaitCalls(int port, String level, int calls) {
        String[] words = {of("allocating"), "instr_level=\"" + level + "\""};
        String count = "instr_method_duration_seconds_count";
        return OpenMetrics.await(port, page -> page.has(count, words) && page.value(count, words) == calls);
    }

    private static String of(String method) {
        return "code_function_name=\"targets.KnownLoad." + method + "\"";
    }

    private void reload(Dialog program, String level) throws IOException {
        write(level);
        String answer = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
        assertTrue(answer.contains("\"classes_changed\":1,"), answer);
    }

    private void write(String level) throws IOException {
        AgentConfig config = AgentConfig.of("""
                [metrics]
                openmetrics = "127.0.0.1:0"
                [[rule]]
                class = "targets.KnownLoad"
                method = ["failing", "burning", "allocating"]
                """ + level).ungoverned();
        Files.writeString(directory.resolve(config.fileName()), config.text());
    }
}
