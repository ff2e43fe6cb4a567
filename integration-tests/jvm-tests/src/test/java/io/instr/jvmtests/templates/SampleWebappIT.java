package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.JvmProcess;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Stats;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedMethod;

/** A Spring Boot application with JPA and H2, every method of it and of its libraries instrumented. */
class SampleWebappIT {

    private static final int ROUNDS = 8;

    private static final Map<Jdk, String> EXPECTED = new ConcurrentHashMap<>();

    /** Answers that the load client got without any agent, from a server on the same JDK. */
    private static String expected(Jdk jdk) {
        return EXPECTED.computeIfAbsent(jdk, on -> application(on, "self", ROUNDS + "").withoutAgent().assertExitCode(0).line("RESULT"));
    }

    @EachJdk(from = 17)
    void everyMethodWithAllPresets(Jdk jdk) throws Exception {
        Served served = serve(jdk, AgentConfig.of("""
                [[rule]]
                preset = "http-server"

                [[rule]]
                preset = "jdbc"

                [[rule]]
                preset = "socket"

                [[rule]]
                class = "library.**"
                template = "timed"
                level = "time"

                [[rule]]
                template = "timed"
                level = "watch"
                """).ungoverned());
        assertSameAnswers(jdk, served);
        assertNearlyAllInstrumented(served.run.stats());
        assertEquals(0, served.run.stats().lost());
        Trace trace = served.run.trace();
        assertTrue(trace.count("library.lending.LendingService.lend") > 0, "calls of the application");
        assertRequests(trace);
        assertStatements(trace);
        assertTransfers(trace);
    }

    /** Tens of millions of calls: too many to look at each, but none may be missing. */
    @EachJdk(from = 17, having = "jfr", oldestAndNewest = true)
    void everyMethodAtLevelTime(Jdk jdk) throws Exception {
        Served served = serve(jdk, AgentConfig.of("""
                [[rule]]
                template = "timed"
                level = "time"
                """).ungoverned());
        assertSameAnswers(jdk, served);
        Stats stats = served.run.stats();
        assertNearlyAllInstrumented(stats);
        String trace = served.run.directory().resolve("trace.jfr").toString();
        Finished summary = Tool.run(jdk, "jfr", List.of("summary", trace)).assertExitCode(0);
        Matcher calls = Pattern.compile("instr\\.MethodCall\\s+(\\d+)").matcher(summary.stdout());
        assertTrue(calls.find(), summary.stdout());
        assertEquals(stats.figure("records"), Long.parseLong(calls.group(1)), "events in the trace");
        assertTrue(stats.figure("records") + stats.lost() > 10_000_000, stats + "");
    }

    /** Thousands of methods get probes and lose them while requests are answered; bench/reload.py measures it. */
    @EachJdk(from = 25)
    void rulesAreReplacedWhileRequestsAreAnswered(Jdk jdk) throws Exception {
        String few = "[[rule]]\nclass = \"library.**\"\nlevel = \"time\"\n";
        String many = few + "[[rule]]\nclass = \"org.springframework.web.**\"\nlevel = \"watch\"\n";
        List<Long> figures = new ArrayList<>();
        Served served = serve(jdk, AgentConfig.of(few).ungoverned(), (server, directory, client) -> {
            for (String rules : List.of(many, few)) {
                AgentConfig.of(rules).ungoverned().writeTo(directory);
                String answer = ControlSocket.ask(server, "{\"ask\":\"reload\"}");
                figures.add((long) ControlSocket.number(answer, "classes_changed"));
                figures.add((long) ControlSocket.number(ControlSocket.status(server), "methods_instrumented"));
            }
        });
        assertSameAnswers(jdk, served);
        assertTrue(figures.get(1) > 2_000, () -> "classes, methods with probes: " + figures);
        List<RecordedEvent> batches = served.run.trace().events("instr.Retransform").stream()
                .filter(batch -> batch.getString("reason").equals("reload"))
                .toList();
        assertEquals(figures.get(0) + figures.get(2), batches.stream().mapToLong(batch -> batch.getLong("classes")).sum(), "touched, as far as they differ");
        assertTrue(batches.stream().noneMatch(batch -> batch.getBoolean("rejected")), batches::toString);
    }

    private static void assertSameAnswers(Jdk jdk, Served served) {
        assertEquals(expected(jdk), served.result);
        assertEquals("", served.run.stderr(), "standard error of the server");
        // 143: ended by SIGTERM, as without the agent.
        assertEquals(143, served.run.exitCode());
    }

    private static void assertNearlyAllInstrumented(Stats stats) {
        long instrumented = stats.methodsInstrumented();
        long refused = stats.refused().values().stream().mapToLong(Long::longValue).sum();
        assertTrue(instrumented > 10_000, stats + "");
        assertTrue(refused * 1000 < instrumented, () -> refused + " of " + instrumented + " refused: " + stats.refused());
    }

    private static void assertRequests(Trace trace) {
        List<RecordedEvent> requests = trace.events("instr.HttpRequest");
        Set<String> lines = requests.stream()
                .map(event -> event.getString("httpMethod") + " " + event.getString("path") + " " + event.getInt("status"))
                .collect(Collectors.toSet());
        for (String line : List.of(
                "GET /books 200", "GET /books/isbn-1 200", "POST /books 201", "GET /books/no-such-book 404", "POST /books 400",
                "GET /shelf.html 200", "GET /statistics 200", "POST /loans 200")) {
            assertTrue(lines.contains(line), () -> "no `" + line + "` in " + lines);
        }
        Set<String> routes = requests.stream().map(event -> event.getString("route")).collect(Collectors.toSet());
        assertTrue(routes.containsAll(Set.of("/books", "/books/{isbn}", "/statistics", "/loans")), () -> "routes of Spring: " + routes);
        // The container forwards what ended in an error to its error page: one more call of the servlet.
        long sent = requests.stream().filter(event -> !event.getString("path").equals("/error")).count();
        assertEquals(ROUNDS * 25L, sent, "requests");
    }

    private static void assertStatements(Trace trace) {
        List<RecordedEvent> statements = trace.events("instr.Statement");
        List<String> texts = statements.stream().map(event -> event.getString("statement")).toList();
        assertTrue(texts.stream().anyMatch(text -> text.startsWith("create table book")), "a plain statement: " + texts.size());
        assertTrue(texts.stream().anyMatch(text -> text.startsWith("insert into loan")), "a prepared statement");
        assertTrue(texts.stream().anyMatch(text -> text.contains("group by")), "a query");
        // Each statement goes through the pool's wrapper to the driver.
        Set<String> outermost = statements.stream()
                .map(event -> ((RecordedMethod) event.getValue("method")).getType().getName())
                .collect(Collectors.toSet());
        assertTrue(outermost.stream().allMatch(name -> name.startsWith("com.zaxxer.hikari.")), () -> "counted at: " + outermost);
        assertTrue(trace.count("org.h2.jdbc.JdbcPreparedStatement.executeQuery") > 0, "the driver's are calls");
        long empty = texts.stream().filter(String::isBlank).count();
        assertEquals(0, empty, "statements without their text, of " + texts.size());
    }

    private static void assertTransfers(Trace trace) {
        List<RecordedEvent> transfers = trace.events("instr.SocketTransfer");
        Map<Boolean, Long> bytes = transfers.stream().collect(Collectors.partitioningBy(
                event -> event.getString("peer").startsWith("127.0.0.1:"),
                Collectors.summingLong(event -> event.getLong("bytes"))));
        assertTrue(bytes.get(true) > 10_000, () -> "bytes with the client: " + bytes);
    }

    /** What the client got and what the server left. */
    private record Served(String result, Finished run) {}

    /** What is done while a client sends its requests. */
    private interface Meanwhile {
        void run(Dialog server, Path directory, JvmProcess client);
    }

    private static Served serve(Jdk jdk, AgentConfig config) throws Exception {
        return serve(jdk, config, (server, directory, client) -> { });
    }

    private static Served serve(Jdk jdk, AgentConfig config, Meanwhile meanwhile) throws Exception {
        Path directory = RunDirectories.create();
        Files.writeString(directory.resolve("instr.toml"), config.text());
        Program server = application(jdk, "serve");
        String before = checksum();
        try (Dialog dialog = server.talk(List.of(Program.agentOption("instr.toml")), directory)) {
            String port = dialog.next().replace("READY ", "");
            Program load = application(jdk, "load", port, ROUNDS + "");
            JvmProcess running = load.start(List.of(), RunDirectories.create());
            meanwhile.run(dialog, directory, running);
            Finished client = running.finish().assertExitCode(0);
            dialog.terminate();
            Served served = new Served(client.line("RESULT"), dialog.finish());
            assertEquals(before, checksum(), "the jar stays as it is");
            return served;
        }
    }

    /** Of the jar with the application and, within it, all of its libraries. */
    private static String checksum() throws Exception {
        byte[] digest = MessageDigest.getInstance("SHA-256").digest(Files.readAllBytes(BuildResult.SAMPLE_WEBAPP.path()));
        return HexFormat.of().formatHex(digest);
    }

    private static Program application(Jdk jdk, String... arguments) {
        List<String> command = new ArrayList<>(List.of("-jar", BuildResult.SAMPLE_WEBAPP.path().toString()));
        command.addAll(Arrays.asList(arguments));
        return Program.of(jdk, List.of("-Xmx512m"), command);
    }
}
