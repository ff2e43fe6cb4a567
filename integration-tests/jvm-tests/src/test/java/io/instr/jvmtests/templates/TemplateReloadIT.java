package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Jars of templates that are added, replaced and broken while the program runs. */
class TemplateReloadIT {

    /** The rules name a category that has no template at the start; one class of theirs is loaded later. */
    private static final String RULES = """
            [[rule]]
            class = "targets.Conversation"
            method = "query"
            template = "category:database/ledger"
            level = "time"
            [[rule]]
            class = "targets.Durations"
            method = "measure"
            template = "category:database/ledger"
            level = "time"
            [[rule]]
            class = "java.util.HashMap"
            method = "put"
            level = "time"
            """;

    private final Path directory = RunDirectories.create();

    @EachJdk(from = 17, oldestAndNewest = true)
    void aJarThatIsAddedServesLoadedClassesAndTheNextOnes(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            assertEquals("length 3", program.ask("query abc"), "the template of the category `database`");
            program.ask("map 100");
            jar("one");
            write("ledger.jar");
            assertTrue(reload(program).contains("\"generation\":2,\"rules\":3,\"classes_changed\":1,"), "the map has the template that it had");
            assertLines(program, "query abc", "# ledger one", "length 3");
            assertEquals("# ledger one", first(program, "busy 1"), "a class that is loaded now");
            program.next();

            // The file is only read by a reload.
            jar("two");
            assertLines(program, "query abc", "# ledger one", "length 3");
            String reloaded = reload(program);
            assertTrue(reloaded.contains("\"generation\":3,\"rules\":3,\"classes_changed\":2,"), reloaded);
            assertLines(program, "query abc", "# ledger two", "length 3");

            // Without the jar it is the category's parent again.
            write();
            assertTrue(reload(program).contains("\"generation\":4,"));
            assertEquals("length 4", program.ask("query abcd"));
            finish(program);
        }
        List<String> statements = trace().events("instr.Statement").stream().map(event -> event.getString("statement")).toList();
        assertEquals(List.of("abc", "abcd"), statements, "the built-in template of the category `database`");
    }

    @EachJdk(from = 17, oldestAndNewest = true)
    void aJarThatCannotBeUsedLeavesTheTemplatesInForce(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            jar("one");
            write("ledger.jar");
            assertTrue(reload(program).contains("\"generation\":2,"));
            // The jar in force is overwritten by something that is no jar, and then is gone.
            Files.writeString(directory.resolve("ledger.jar"), "no jar");
            assertRefused(program, "templates = \\\"ledger.jar\\\"");
            assertLines(program, "query abc", "# ledger one", "length 3");
            Files.delete(directory.resolve("ledger.jar"));
            assertRefused(program, "templates = \\\"ledger.jar\\\"");
            // A template that cannot be merged, with its place in the source.
            Files.copy(UserTemplatesIT.templatesFrom("refused"), directory.resolve("refused.jar"));
            jar("two");
            write("ledger.jar", "refused.jar");
            assertRefused(program, "NoSentinel.java:9:");
            assertLines(program, "query abc", "# ledger one", "length 3");
            write("ledger.jar");
            assertTrue(reload(program).contains("\"generation\":3,"));
            assertLines(program, "query abc", "# ledger two", "length 3");
            finish(program);
        }
    }

    private Dialog start(Jdk jdk) throws IOException {
        write();
        Dialog program = Program.target(jdk, "targets.Conversation").with("-Xverify:all").talk(List.of(Program.agentOption("instr.toml")), directory);
        assertEquals("ready", program.next());
        return program;
    }

    private void write(String... jars) throws IOException {
        String templates = jars.length == 0 ? "" : "templates = [\"" + String.join("\", \"", jars) + "\"]";
        AgentConfig.of("", templates, RULES).ungoverned().writeTo(directory);
    }

    /** Makes {@code ledger.jar}, or replaces it: a template of the category that prints this word at each call. */
    private void jar(String word) throws IOException {
        Path sources = RunDirectories.create();
        Files.writeString(sources.resolve("Ledger.java"), """
                package acme;
                import java.instr.Target;
                import java.instr.Template;
                final class Ledger {
                    @Template(name = "ledger", category = "database/ledger")
                    static void ledger() throws Throwable {
                        System.out.println("# ledger %s");
                        Target.proceed();
                    }
                }
                """.formatted(word));
        UserTemplatesIT.jarOf(sources, directory.resolve("ledger.jar"));
    }

    private static String reload(Dialog program) {
        return ControlSocket.ask(program, "{\"ask\":\"reload\"}").trim();
    }

    private static void assertRefused(Dialog program, String reason) {
        String answer = reload(program);
        assertTrue(answer.contains(reason) && answer.contains("generation 2 stays in force"), answer);
    }

    private static String first(Dialog program, String command) {
        program.send(command);
        return program.next();
    }

    private static void assertLines(Dialog program, String command, String... lines) {
        program.send(command);
        for (String line : lines) {
            assertEquals(line, program.next());
        }
    }

    private static void finish(Dialog program) {
        program.send("quit");
        Finished run = program.finish().assertExitCode(0);
        assertEquals("", run.stderr());
    }

    private Trace trace() {
        return Finished.in(directory).trace();
    }
}
