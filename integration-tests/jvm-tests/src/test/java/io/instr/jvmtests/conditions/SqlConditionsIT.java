package io.instr.jvmtests.conditions;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
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
import java.util.TreeMap;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Tag;

/** Probes whose condition looks at the text of SQL statements, against what the program executes. The database is H2. */
@Tag("timed")
class SqlConditionsIT {

    /** Of each of the four kinds of statements. */
    private static final int ROUNDS = 150;
    private static final String PREPARED = "org.h2.jdbc.JdbcPreparedStatement.";
    private static final String NOT_KNOWN = "the statement was prepared before this condition was made";
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;
    private static final String SHOP = """
            package shop;

            import java.sql.Connection;
            import java.sql.DriverManager;
            import java.sql.PreparedStatement;
            import java.sql.ResultSet;
            import java.sql.SQLException;
            import java.sql.Statement;
            import java.util.Scanner;

            public class Shop {
                /** Longer than other texts may be, shorter than a statement may be. */
                private static final String INSERT = "INSERT INTO ORDERS /*" + "x".repeat(3_000) + "*/ VALUES (?)";
                private static Connection connection;
                private static PreparedStatement kept;

                public static void main(String[] none) throws Exception {
                    connection = DriverManager.getConnection("jdbc:h2:mem:shop");
                    try (Statement statement = connection.createStatement()) {
                        statement.execute("CREATE TABLE ORDERS (ID INT)");
                        statement.execute("CREATE TABLE CUSTOMERS (ID INT)");
                    }
                    keep();
                    rounds(1);
                    System.out.println("ready");
                    Scanner lines = new Scanner(System.in);
                    while (lines.hasNextLine()) {
                        String[] words = lines.nextLine().split(" ");
                        if (words[0].equals("quit")) return;
                        if (words[0].equals("keep")) keep();
                        if (words[0].equals("rounds")) rounds(Integer.parseInt(words[1]));
                        System.out.println("done");
                    }
                }

                private static void keep() throws SQLException {
                    kept = connection.prepareStatement("SELECT COUNT(*) FROM ORDERS");
                }

                private static void rounds(int count) throws SQLException {
                    for (int i = 0; i < count; i++) {
                        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery("SELECT ID FROM ORDERS WHERE ID = " + i)) {
                            rows.next();
                        }
                        try (PreparedStatement statement = connection.prepareStatement("SELECT ID FROM CUSTOMERS WHERE ID = ?")) {
                            statement.setInt(1, i);
                            statement.executeQuery().close();
                        }
                        try (PreparedStatement statement = connection.prepareStatement(INSERT)) {
                            statement.setInt(1, i);
                            statement.executeUpdate();
                        }
                        kept.executeQuery().close();
                    }
                }
            }
            """;

    private final Path directory = RunDirectories.create();
    private final Map<String, Long> expected = new TreeMap<>();

    /** Plain and prepared statements; of one that was prepared before the text is unknown. */
    @EachJdk
    void statementsAreChosenByTheirText(Jdk jdk) throws IOException {
        try (Dialog program = shop(jdk, NO_RULE)) {
            claim(program, "org.h2.jdbc.JdbcStatement.executeQuery", null, "sql like '*ORDERS*'", ROUNDS);
            claim(program, "org.h2.jdbc.JdbcStatement.executeQuery", null, "sql = 'SELECT ID FROM ORDERS WHERE ID = 7'", 1);
            claim(program, PREPARED + "executeQuery", null, "sql starts with 'SELECT'", ROUNDS);
            claim(program, PREPARED + "executeUpdate", null, "sql like 'INSERT*VALUES*'", ROUNDS);
            claim(program, PREPARED + "executeUpdate", null, "sql like '*CUSTOMERS*' or sql = null", 0);
            claim(program, "org.h2.jdbc.Jdbc*Statement.executeQuery", null, "not sql like '*CUSTOMERS*'", ROUNDS);
            claim(program, PREPARED + "executeUpdateInternal", PREPARED + "executeUpdate", "sql starts with 'INSERT'", ROUNDS);
            assertRefused(program, "shop.Shop.rounds", "sql like 'a*'", "column 1 of the condition: shop.Shop.rounds is no method of a java.sql.Statement", "`org.h2.jdbc.Jdbc");
            assertRefused(program, PREPARED + "executeQuery", "sql > 5", "it is compared with a number (texts have quotes), and is a java.lang.String");
            program.ask("rounds " + ROUNDS);
            for (JsonNode condition : conditions(program)) {
                boolean withKept = condition.path("method").asText().equals("executeQuery") && !condition.path("class").asText().endsWith("JdbcStatement");
                JsonNode figures = condition.path("condition");
                assertEquals(withKept ? ROUNDS : 0, figures.path("failed").asLong(), condition::toString);
                assertTrue(!withKept || figures.path("last_failure").asText().contains(NOT_KNOWN), condition::toString);
            }
            quit(program);
        }
        assertEquals(expected, byTemplate());
    }

    /** What was prepared meanwhile is known, and forgotten with the claim. */
    @EachJdk(having = "jdb", oldestAndNewest = true)
    void theDriverIsRestoredAndTextsAreForgotten(Jdk jdk) throws IOException {
        LoadedBytes targets = LoadedBytes.atFreePort();
        LoadedBytes driver = targets.ofClasses("org.h2.jdbc.");
        try (Dialog program = shop(jdk, NO_RULE, targets.option())) {
            Map<String, String> original = driver.methods();
            String condition = "sql like '*COUNT*'";
            claim(program, PREPARED + "executeQuery", null, condition, ROUNDS);
            assertTrue(!original.equals(driver.methods()));
            program.ask("keep");
            program.ask("rounds " + ROUNDS);
            assertEquals(0, conditions(program).get(0).path("condition").path("failed").asLong(), () -> conditions(program).toString());
            remove(program);
            assertEquals(original, driver.methods());
            claim(program, PREPARED + "executeQuery", null, condition, ROUNDS);
            program.ask("rounds " + ROUNDS);
            assertEquals(ROUNDS, conditions(program).get(0).path("condition").path("failed").asLong(), () -> conditions(program).toString());
            remove(program);
            assertEquals(original, driver.methods());
            quit(program);
        }
        assertEquals(expected, byTemplate());
    }

    /** In the configuration a rule has the texts remembered from the start. */
    @EachJdk(oldestAndNewest = true)
    void aRuleRemembersWhatIsPreparedBeforeTheFirstClaim(Jdk jdk) throws IOException {
        String rules = """
                [[rule]]
                extends = "java.sql.Connection"
                method = ["prepareStatement(java.lang.String, ..)", "prepareCall(java.lang.String, ..)"]
                template = "jdbc-prepare"

                [[context]]
                methods = "org.h2.jdbc.JdbcPreparedStatement.executeQuery"
                when = "sql like '*COUNT*'"
                """;
        try (Dialog program = shop(jdk, rules)) {
            program.ask("rounds " + ROUNDS);
            assertEquals(0, conditions(program).get(0).path("condition").path("failed").asLong(), () -> conditions(program).toString());
            quit(program);
        }
        assertEquals(Map.of("timed inside " + PREPARED + "executeQuery itself when sql like '*COUNT*'", ROUNDS + 1L), byTemplate());
    }

    private void claim(Dialog program, String method, String within, String condition, long calls) {
        String made = ControlSocket.ask(program, request(method, within, condition));
        assertTrue(made.contains("\"condition\":") && !made.contains("\"methods\":0"), made);
        String context = within == null ? method + " itself" : within;
        if (calls > 0) expected.put("timed inside " + context + " when " + condition, calls);
    }

    private static void assertRefused(Dialog program, String method, String condition, String... reasons) {
        String answer = ControlSocket.ask(program, request(method, null, condition));
        assertTrue(answer.contains("\"error\"") && Arrays.stream(reasons).allMatch(answer::contains), answer);
    }

    private static String request(String method, String within, String condition) {
        String context = within == null ? "" : "\"within\":\"" + within + "\",";
        return "{\"ask\":\"probe\",\"methods\":\"" + method + "\"," + context + "\"when\":\"" + condition + "\",\"seconds\":600}";
    }

    private static void remove(Dialog program) {
        String id = claims(program).stream().filter(claim -> claim.path("id").isNumber()).findFirst().orElseThrow().path("id").asText();
        String removed = ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + id + "}");
        assertTrue(!removed.contains("\"error\""), removed);
    }

    private static List<JsonNode> conditions(Dialog program) {
        return claims(program).stream().filter(claim -> claim.has("condition")).toList();
    }

    private static List<JsonNode> claims(Dialog program) {
        try {
            JsonNode claims = new ObjectMapper().readTree(ControlSocket.ask(program, "{\"ask\":\"claims\"}")).path("claims");
            return StreamSupport.stream(claims.spliterator(), false).toList();
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private Dialog shop(Jdk jdk, String configuration, String... options) {
        Path driver = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .map(Path::of)
                .filter(jar -> jar.getFileName().toString().startsWith("h2-"))
                .findFirst()
                .orElseThrow();
        Path classes = Compilation.compiled(RunDirectories.create(), "shop", List.of(), SHOP);
        Program program = Program.of(jdk, List.of("-Xverify:all", "-cp", classes + File.pathSeparator + driver), List.of("shop.Shop")).with(options);
        return program.talkWithAgent(AgentConfig.of(configuration), directory);
    }

    private static void quit(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }

    private Map<String, Long> byTemplate() {
        Map<String, Long> calls = new TreeMap<>();
        Finished.in(directory).trace().calls().forEach(call -> calls.merge(call.template(), 1L, Long::sum));
        return calls;
    }
}
