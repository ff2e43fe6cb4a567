package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** Statements of PostgreSQL's driver, compared with what a server was asked to execute. */
class PostgresqlIT {

    private static final Path SOURCES = Path.of("src/test/postgresql").toAbsolutePath();
    private static final String COPY_IN = "COPY item (name) FROM STDIN";
    private static final String COPY_OUT = "COPY (SELECT name FROM item LIMIT 2) TO STDOUT";

    /** As the server counts them; the driver adds the ends of transactions, a setting, and an empty statement to see whether a connection is valid. */
    private static final Map<String, Long> EXECUTED = Map.ofEntries(
            Map.entry("SELECT name FROM item", 1L),
            Map.entry("UPDATE item SET price = 1", 1L),
            Map.entry("UPDATE item SET price = 2", 1L),
            Map.entry("UPDATE item SET price = 3", 1L),
            Map.entry("INSERT INTO item VALUES ('key') RETURNING *", 1L),
            Map.entry("fail at once", 1L),
            Map.entry("SELECT name FROM item WHERE name = $1", 8L),
            Map.entry("UPDATE item SET price = 4 WHERE name = $1", 3L),
            Map.entry("select * from audit($1) as result", 1L),
            Map.entry("UPDATE item SET price = 5", 1L),
            Map.entry("UPDATE item SET price = 6", 1L),
            Map.entry("INSERT INTO item VALUES ($1)", 7L),
            Map.entry("SELECT name FROM item LIMIT 3", 1L),
            Map.entry("DELETE FROM item", 1L),
            Map.entry(COPY_IN, 1L),
            Map.entry(COPY_OUT, 1L),
            Map.entry("BEGIN", 2L),
            Map.entry("COMMIT", 1L),
            Map.entry("ROLLBACK", 1L),
            Map.entry("SET application_name = 'PostgreSQL JDBC Driver'", 1L),
            Map.entry("", 1L));

    @EachJdk(from = 17, oldestAndNewest = true)
    void eachStatementIsCountedOnceWithItsText(Jdk jdk) {
        Finished run = run(jdk, "postgresql");
        assertEquals(EXECUTED, executed(run));
        assertEquals(ofTheApplication(), recorded(run.trace()));
        assertEquals(2, run.trace().count("org.postgresql.jdbc.PgConnection.commit"), "setAutoCommit(true) commits as well");
        assertEquals(1, run.trace().count("org.postgresql.jdbc.PgConnection.rollback"));
        assertEquals(1, run.trace().count("org.postgresql.core.v3.QueryExecutorImpl.fetch"), "a portion of two rows, then one of one row");
    }

    @EachJdk(from = 17, oldestAndNewest = true)
    void bothPresetsTogetherCountNoStatementTwice(Jdk jdk) {
        assertEquals(ofTheApplication(), recorded(run(jdk, "jdbc", "postgresql").trace()));
    }

    @EachJdk(from = 17, oldestAndNewest = true)
    void thePresetOfAllDriversLacksOnlyTheCopies(Jdk jdk) {
        Map<String, Long> expected = ofTheApplication();
        expected.keySet().removeAll(List.of(COPY_IN, COPY_OUT));
        assertEquals(expected, recorded(run(jdk, "jdbc").trace()));
    }

    /** Returns how often the application executed each text as it wrote it: a batch is one call. */
    private static Map<String, Long> ofTheApplication() {
        Map<String, Long> texts = new HashMap<>();
        EXECUTED.forEach((text, times) -> texts.put(text.replace("$1", "?").replace(" RETURNING *", ""), times));
        List.of("BEGIN", "COMMIT", "ROLLBACK", "SET application_name = 'PostgreSQL JDBC Driver'").forEach(texts::remove);
        texts.put("{call audit(?)}", texts.remove("select * from audit(?) as result"));
        texts.put("INSERT INTO item VALUES (?)", 2L);
        // A batch of two statements, whose text is not one of them. The driver's own empty statement takes no method of JDBC.
        texts.remove("UPDATE item SET price = 5");
        texts.remove("UPDATE item SET price = 6");
        texts.put("", 1L);
        return texts;
    }

    private static Map<String, Long> executed(Finished run) {
        return run.stdout().lines()
                .filter(line -> line.matches("\\d+ .*"))
                .collect(Collectors.toMap(line -> line.substring(line.indexOf(' ') + 1), line -> Long.parseLong(line.substring(0, line.indexOf(' ')))));
    }

    private static Map<String, Long> recorded(Trace trace) {
        return trace.events("instr.Statement").stream()
                .collect(Collectors.groupingBy(event -> event.getString("statement"), Collectors.counting()));
    }

    private static Finished run(Jdk jdk, String... presets) {
        String driver = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(jar -> Path.of(jar).getFileName().toString().startsWith("postgresql-"))
                .findFirst()
                .orElseThrow();
        Path classes = RunDirectories.create();
        List<String> arguments = new ArrayList<>(List.of("--release", "17", "-d", classes.toString(), "-cp", driver));
        arguments.addAll(Compilation.sourcesBelow(SOURCES));
        Compilation.javac(arguments);
        String rules = Arrays.stream(presets).map("[[rule]]\npreset = \"%s\"\n"::formatted).collect(Collectors.joining());
        Program program = Program.of(jdk, List.of("-Xverify:all", "-cp", classes + File.pathSeparator + driver), List.of("orders.Orders"));
        Finished run = program.compare(AgentConfig.of(rules));
        assertEquals(0, run.stats().refused().values().stream().mapToLong(Long::longValue).sum(), () -> run.stats() + "");
        return run;
    }
}
