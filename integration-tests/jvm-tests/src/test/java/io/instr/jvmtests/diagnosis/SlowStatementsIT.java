package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;

/** {@code instr diagnose} names the statement of a database that makes calls slow, without its values. The database is H2. */
@Tag("timed")
class SlowStatementsIT {

    private static final String TARGET = "targets.diagnosis.SlowStatement";
    private static final String SEARCH = TARGET + ".search";
    private static final String PLAIN = "SELECT NAME FROM ORDERS WHERE CUSTOMER = ? AND PAUSE(?) <> ?";
    private static final String PREPARED = "SELECT ID FROM ORDERS WHERE CUSTOMER = ? AND PAUSE(?) < ?";
    private static final double LEAST_SHARE = 0.8;
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;
    private static final String STATEMENTS = """
            [[rule]]
            preset = "jdbc"
            """;

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true)
    void theStatementIsNamedAndNothingOfItIsRecorded(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, NO_RULE)) {
            assertNames(program, "plain", PLAIN);
            assertNames(program, "prepared", PREPARED);
            // Without fast calls to compare with, the descent takes other turns.
            Diagnosed slowOnly = Diagnosed.of(program, TARGET + ".find", "--slower-than", "15ms", "--when", "arg.1 > 10").assertQuickAndConclusive();
            assertEquals("statement: " + PREPARED, slowOnly.last().reason(), slowOnly::toString);
            assertEquals("ok", program.ask("way kept"));
            Diagnosed kept = diagnose(program);
            assertEquals("statement", kept.last().reason(), kept::toString);
            assertTrue(kept.json().path("notices").toString().contains("prepared before the diagnosis"), kept::toString);
            assertAreChosenByTheirText(program, "plain", "JdbcStatement.executeQuery", "sql like 'SELECT NAME*PAUSE(*'");
            assertAreChosenByTheirText(program, "prepared", "JdbcPreparedStatement.executeQuery()", "sql like '*PAUSE(*'");
            quit(program);
        }
        Set<String> recorded = Finished.in(directory).trace().counts().keySet();
        assertTrue(recorded.stream().allMatch(SEARCH::equals), recorded::toString);
    }

    /** The root of a diagnosis is the driver's own method, in the calls with this text. */
    private static void assertAreChosenByTheirText(Dialog program, String way, String method, String condition) throws IOException {
        assertEquals("ok", program.ask("way " + way));
        Diagnosed diagnosed = Diagnosed.of(program, "org.h2.jdbc." + method, "--when", condition, "--slower-than", "15ms");
        assertEquals(condition, diagnosed.json().path("condition").asText(), diagnosed::toString);
        assertTrue(diagnosed.json().path("tree").path("slow_calls").asLong() > 0, diagnosed::toString);
    }

    /** A rule of the user's own has the same methods: its figures are those of the program, and it knows the texts of what was prepared before. */
    @EachJdk(oldestAndNewest = true)
    void whatTheRulesRecordOfStatementsStaysTheSame(Jdk jdk) throws Exception {
        long executed;
        try (Dialog program = start(jdk, STATEMENTS)) {
            assertNames(program, "plain", PLAIN);
            assertNames(program, "kept", PREPARED);
            assertEquals("ok", program.ask("rest"));
            // The last searches have ended by then.
            Thread.sleep(500);
            executed = OwnTruth.ask(program).path("search").path("nodes").path("statement").path("calls").asLong();
            quit(program);
        }
        List<String> texts = Finished.in(directory).trace().events("instr.Statement").stream().map(event -> event.getString("statement")).toList();
        long searches = texts.stream().filter(text -> text.contains("PAUSE(") && text.startsWith("SELECT")).count();
        // Three trials before the first counted call, and no statement twice.
        assertEquals(executed + 3, searches);
        assertTrue(texts.stream().anyMatch(text -> text.contains("'secret'")), "the recording has the texts as they are");
    }

    private static void assertNames(Dialog program, String way, String text) throws IOException {
        assertEquals("ok", program.ask("way " + way));
        Diagnosed diagnosed = diagnose(program).assertQuickAndConclusive();
        diagnosed.assertLeadsThrough(List.of("find", "executeQuery"), LEAST_SHARE);
        assertEquals("statement: " + text, diagnosed.last().reason(), diagnosed::toString);
        String sentence = diagnosed.json().path("sentence").asText();
        assertTrue(sentence.endsWith("executeQuery -> statement: " + text), sentence);
        assertTrue(!diagnosed.json().toString().contains("secret"), diagnosed::toString);
    }

    /** The bytecode of the driver is looked at by a debugger. */
    @EachJdk(having = "jdb", oldestAndNewest = true)
    void theDriverIsChangedOnlyMeanwhile(Jdk jdk) throws Exception {
        LoadedBytes targets = LoadedBytes.atFreePort();
        LoadedBytes driver = targets.ofClasses("org.h2.jdbc.");
        try (Dialog program = start(jdk, NO_RULE, targets.option())) {
            Map<String, String> original = driver.methods();
            assertTrue(original.keySet().stream().anyMatch(method -> method.startsWith("org.h2.jdbc.JdbcStatement.executeQuery")), original::toString);
            Process client = Diagnosed.start(program, SEARCH, "--slower-than", "3600s");
            // No call is slow: it never gets so far.
            Awaiting.await(() -> ControlSocket.ask(program, "{\"ask\":\"claims\"}"), claims -> claims.contains("\"id\":1"));
            assertEquals(original, driver.methods());
            client.destroy();
            client.waitFor();
            assertNames(program, "plain", PLAIN);
            assertEquals(original, driver.methods());
            interruptedOnceTheDriverIsChanged(program, driver, original);
            quit(program);
        }
    }

    private static void interruptedOnceTheDriverIsChanged(Dialog program, LoadedBytes driver, Map<String, String> original) throws Exception {
        // It measures for two seconds after that.
        assertEquals("ok", program.ask("way rare"));
        Process client = Diagnosed.start(program, SEARCH, "--slower-than", "75ms");
        Awaiting.await(driver::methods, methods -> !methods.equals(original) || !client.isAlive());
        assertTrue(client.isAlive(), "it has ended before the driver was seen to be changed");
        assertEquals(0, new ProcessBuilder("kill", "-INT", String.valueOf(client.pid())).start().waitFor());
        client.waitFor();
        Awaiting.await(driver::methods, original::equals);
    }

    private static Diagnosed diagnose(Dialog program) {
        return Diagnosed.of(program, SEARCH, "--slower-than", "15ms");
    }

    private Dialog start(Jdk jdk, String rules, String... options) {
        String driver = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(jar -> Path.of(jar).getFileName().toString().startsWith("h2-"))
                .findFirst()
                .orElseThrow();
        String targets = BuildResult.TARGETS.path().toString();
        Program program = Program.of(jdk, List.of("-Xverify:all", "-cp", targets + File.pathSeparator + driver), List.of(TARGET)).with(options);
        return program.talkWithAgent(AgentConfig.of(rules), directory);
    }

    private static void quit(Dialog program) throws IOException {
        JsonNode claims = new ObjectMapper().readTree(ControlSocket.ask(program, "{\"ask\":\"claims\"}")).get("claims");
        claims.forEach(claim -> assertTrue(!claim.path("id").isNumber(), claim::toString));
        program.send("quit");
        program.finish().assertExitCode(0);
    }
}
