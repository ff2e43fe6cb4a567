package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.telemetry.OtlpReceiver.Span;
import io.instr.jvmtests.telemetry.OtlpReceiver;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** Work of several clients at once on other threads: each call must stand below the call that caused it. */
class TransactionsIT {

    private static final String TARGET = "targets.Transactions";
    private static final long EACH = 3 * 12;
    private static final long PARTS = 16;
    private static final Map<String, Long> WORK_OF_OTHERS = Map.of("submitWork", EACH, "executeWork", EACH, "futureWork", EACH,
            "forkJoinWork", EACH, "scheduleWork", EACH, "threadWork", 2 * EACH, "chainWork", 2 * EACH);
    private static final Pattern NODE = Pattern.compile("\\{\"parent\":(\\d+),\"method\":\"([^\"]*)\",\"elsewhere\":(true|false),"
            + "\"calls\":(\\d+),\"total\":(\\d+),\"estimated\":false,\"own\":\\d+,\"own_estimated\":false,\"beside\":(\\d+)\\}");

    private static final String RULES = """
            [[rule]]
            class = "targets.Transactions"
            method = ["via*", "*Work", "background"]
            level = "%s"

            [[rule]]
            preset = "async"
            """;

    private record Node(int parent, String method, boolean elsewhere, long calls, long total, long beside) {}

    @EachJdk
    void workOfOtherThreadsIsBelowTheCallThatCausedIt(Jdk jdk) {
        Finished run = Program.target(jdk, TARGET).compare(AgentConfig.of(RULES.formatted("time")).ungoverned());
        assertEquals(0, run.stats().lost());
        List<Node> nodes = transactions(run);
        nodes.stream().skip(1).forEach(node -> assertBelongs(nodes, node));

        Map<String, Long> elsewhere = new HashMap<>();
        Map<String, Long> beside = new HashMap<>();
        nodes.stream().filter(Node::elsewhere).forEach(node -> {
            elsewhere.merge(node.method(), node.calls(), Long::sum);
            beside.merge(node.method(), node.beside(), Long::sum);
        });
        List<String> always = new ArrayList<>(List.of("submit", "execute", "future", "forkJoin", "schedule"));
        if (jdk.feature() >= 21) {
            always.add("virtual");
        }
        for (String way : always) {
            assertEquals(EACH, elsewhere.get(way + "Work"), way);
            assertTrue(beside.get(way + "Work") > 0, way + " overlaps its caller in time");
        }
        assertEquals(2 * EACH, elsewhere.get("threadWork"));
        assertEquals(2 * EACH, elsewhere.get("chainWork"));
        assertEquals(EACH, elsewhere.get("nobodyWork"), "goes on when its transaction is over");
        // A stage may find that the one before is complete, and run where it was asked for; a pool lends its thread to a caller.
        assertEquals(3 * EACH, callsOf(nodes, "stagesWork"));
        assertTrue(elsewhere.get("stagesWork") >= 2 * EACH, elsewhere.toString());
        assertEquals(PARTS * EACH, callsOf(nodes, "forkWork"));
        assertEquals(PARTS * EACH, elsewhere.get("forkWork"));
        assertEquals(PARTS * EACH, elsewhere.get("streamWork"));
    }

    @EachJdk
    void spansOfTasksStandBelowTheSpanOfTheCall(Jdk jdk) throws IOException {
        try (OtlpReceiver receiver = new OtlpReceiver()) {
            String metrics = """
                    [metrics]
                    otlp = "%s"
                    otlp-traces = true
                    trace-threshold = "1 ms"
                    interval = "1 s"

                    """.formatted(receiver.url());
            AgentConfig config = AgentConfig.of(metrics + RULES.formatted("time")).ungoverned();
            Path directory = RunDirectories.create();
            String file = config.writeTo(directory).getFileName().toString();
            List<Span> spans;
            // The end of the program waits a few seconds for the receiver and no longer.
            try (Dialog program = Program.target(jdk, TARGET, "stay").talk(List.of(Program.agentOption(file)), directory)) {
                assertEquals("done", program.next().split(" ")[0]);
                spans = Awaiting.await(receiver::spans, TransactionsIT::areWhole);
                program.send("quit");
                program.finish().assertExitCode(0);
            }
            Map<String, Span> byId = spans.stream().collect(Collectors.toMap(Span::id, span -> span));
            Map<String, Integer> below = new HashMap<>();
            for (Span span : spans) {
                String method = span.name().replace("Transactions.", "");
                Span parent = byId.get(span.parent());
                if (parent == null) {
                    assertEquals("", span.parent(), "a parent that was sent");
                    continue;
                }
                String way = method.replace("Work", "");
                assertEquals("Transactions.via" + way.substring(0, 1).toUpperCase() + way.substring(1), parent.name());
                assertEquals(parent.trace(), span.trace());
                below.merge(method, 1, Integer::sum);
            }
            WORK_OF_OTHERS.forEach((work, calls) -> assertEquals(calls, below.get(work).longValue(), work + " of " + below));
        }
    }

    /** Returns whether the work that was done on other threads is there, and all that it is below. */
    private static boolean areWhole(List<Span> spans) {
        Set<String> identities = spans.stream().map(Span::id).collect(Collectors.toSet());
        return spans.stream().allMatch(span -> span.parent().isEmpty() || identities.contains(span.parent()))
                && WORK_OF_OTHERS.entrySet().stream().allMatch(work -> work.getValue()
                        <= spans.stream().filter(span -> span.name().equals("Transactions." + work.getKey())).count());
    }

    /** A method below another must be caused by it; only shared tasks may stand alone. */
    private static void assertBelongs(List<Node> nodes, Node node) {
        Node parent = nodes.get(node.parent());
        if (node.method().startsWith("via") || node.method().equals("background") || node.method().equals("sharedWork") && parent.method().isEmpty()) {
            assertEquals("", parent.method(), node.toString());
        } else {
            String way = node.method().replace("Work", "");
            assertEquals("via" + way.substring(0, 1).toUpperCase() + way.substring(1), parent.method(), node.toString());
        }
    }

    private static long callsOf(List<Node> nodes, String method) {
        return nodes.stream().filter(node -> node.method().equals(method)).mapToLong(Node::calls).sum();
    }

    private static List<Node> transactions(Finished run) {
        Finished tool = Tool.instr(List.of("transactions", "--json", run.trace().file().toString())).assertExitCode(0);
        List<Node> nodes = new ArrayList<>();
        Matcher matcher = NODE.matcher(tool.stdout());
        while (matcher.find()) {
            MatchResult found = matcher.toMatchResult();
            String method = found.group(2).replace(TARGET + ".", "");
            nodes.add(new Node(
                    Integer.parseInt(found.group(1)),
                    method,
                    Boolean.parseBoolean(found.group(3)),
                    Long.parseLong(found.group(4)),
                    Long.parseLong(found.group(5)),
                    Long.parseLong(found.group(6))));
        }
        assertTrue(nodes.size() > 10, tool.stdout() + tool.stderr());
        return nodes;
    }
}
