package io.instr.jvmtests.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The call tree of a running program, against that of the file of the same run. */
class LiveTreeIT {

    private static final ObjectMapper JSON = new ObjectMapper();
    /** 4 of load, 30 of recurse, 1 + 2,000 of fail, 1 + 2 x 120 of steady, 2 of burn. */
    private static final long ALL_CALLS = 2_278;

    private static Dialog start(Jdk jdk, Path directory, boolean write) {
        AgentConfig config = AgentConfig.verbatim("""
                [trace]
                file = "trace.jfr"
                write = %s
                [control]
                call-tree = true
                [governor]
                enabled = false
                [filter]
                leaf = false
                max-bytes = 0
                [[rule]]
                class = ["targets.KnownLoad", "targets.KnownLoad$Own"]
                method = ["load", "steady", "paced*", "fail*", "burn*", "recurse"]
                level = "time"
                """.formatted(write));
        Dialog program = Program.target(jdk, "targets.KnownLoad").talkWithAgent(config, directory);
        program.ask("recurse 30");
        program.ask("fail 2000");
        program.ask("steady 3 2 40");
        program.ask("burn 50");
        return program;
    }

    /** Path -> calls and time, of nodes that name their parents by position. */
    private static Map<String, List<Long>> paths(int count, java.util.function.IntFunction<JsonNode> node) {
        Map<String, List<Long>> paths = new TreeMap<>();
        String[] names = new String[count];
        for (int i = 0; i < count; i++) {
            JsonNode entry = node.apply(i);
            String above = entry.get("parent").isNull() ? "" : names[entry.get("parent").asInt()];
            names[i] = above + "/" + entry.get("method").asText();
            paths.put(names[i], List.of(entry.get("calls").asLong(), entry.get("total").asLong()));
        }
        return paths;
    }

    /** The tree, as soon as the drainer has taken so many calls. */
    private static JsonNode live(Dialog program, long calls) {
        return Awaiting.await(() -> tree(program), tree -> callsOf(tree) >= calls);
    }

    private static JsonNode tree(Dialog program) throws IOException {
        return JSON.readTree(top(program, "--json").stdout());
    }

    /** The first answer: on a busy machine the agent and the command line may wait for one another for longer than they are willing to. */
    private static Finished top(Dialog program, String... options) {
        List<String> arguments = new ArrayList<>(List.of("top", "--tree", Long.toString(program.pid())));
        arguments.addAll(List.of(options));
        return Awaiting.await(() -> Tool.instr(arguments), run -> run.exitCode() == 0);
    }

    private static long callsOf(JsonNode tree) {
        long calls = 0;
        for (JsonNode node : tree.get("nodes")) {
            calls += node.get("calls").asLong();
        }
        return calls;
    }

    @EachJdk
    void itIsTheTreeOfTheFile(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = start(jdk, directory, true)) {
            // All of these calls have ended.
            JsonNode live = live(program, ALL_CALLS);
            assertEquals(0, live.get("left_out").asLong() + live.get("misplaced").asLong());
            program.send("quit");
            program.finish().assertExitCode(0);
            Finished report = Tool.instr(List.of("report", "--json", directory.resolve("trace.jfr").toString())).assertExitCode(0);
            JsonNode file = JSON.readTree(report.stdout());
            JsonNode nodes = file.get("nodes");
            Map<String, List<Long>> expected = new TreeMap<>();
            String[] names = new String[nodes.get("frame").size()];
            for (int i = 1; i < names.length; i++) {
                JsonNode frame = file.get("frames").get(nodes.get("frame").get(i).asInt());
                int parent = nodes.get("parent").get(i).asInt();
                names[i] = (parent == 0 ? "" : names[parent]) + "/" + frame.get("class").asText() + "." + frame.get("method").asText();
                // The live tree has the times as they were recorded.
                long recorded = nodes.get("total").get(i).asLong() + nodes.get("probes").get(i).asLong();
                expected.put(names[i], List.of(nodes.get("calls").get(i).asLong(), recorded));
            }
            assertTrue(expected.size() > 30, expected.toString());
            assertEquals(expected, paths(live.get("nodes").size(), live.get("nodes")::get));
        }
    }

    @EachJdk
    void itNeedsNoFile(Jdk jdk) throws Exception {
        try (Dialog program = start(jdk, RunDirectories.create(), false)) {
            live(program, ALL_CALLS);
            Finished tree = top(program);
            assertTrue(tree.stdout().contains("  targets.KnownLoad.load"), tree.stdout());
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }
}
