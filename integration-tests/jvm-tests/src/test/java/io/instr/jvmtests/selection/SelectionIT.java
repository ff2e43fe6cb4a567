package io.instr.jvmtests.selection;

import static io.instr.jvmtests.files.Compilation.compiled;
import static io.instr.jvmtests.files.Compilation.jar;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Rules that choose by module, jar, class loader, flags, size and called methods: the same methods at start and when attached later. */
class SelectionIT {

    private static final String MAIN = """
            package app;
            import java.io.File;
            import java.net.URL;
            import java.net.URLClassLoader;
            import java.util.Scanner;
            public class Main {
                public static void main(String[] arguments) throws Exception {
                    URL[] urls = {new File(arguments[0]).toURI().toURL()};
                    ClassLoader plugins = new URLClassLoader("plugins", urls, Main.class.getClassLoader());
                    Runnable plugin = (Runnable) plugins.loadClass("gamma.Part").getConstructor().newInstance();
                    Scanner commands = new Scanner(System.in);
                    while (commands.nextLine().equals("go")) {
                        plugin.run();
                        System.out.println("done " + new beta.Part().forward() + java.sql.Date.valueOf("2026-11-23"));
                    }
                }
            }
            """;
    private static final String ALPHA = """
            package alpha;
            public class Part {
                public int work() { return 1; }
                public static int fixed() { return 1; }
            }
            """;
    private static final String BETA = """
            package beta;
            public class Part {
                public int forward() { return new alpha.Part().work() + alpha.Part.fixed() + own(); }
                int own() { return 1; }
            }
            """;
    private static final String GAMMA = """
            package gamma;
            public class Part implements Runnable {
                public void run() { alpha.Part.fixed(); }
            }
            """;
    private static final String RULES = """
            [[rule]]
            name = "alpha"
            jar = "alpha 1*.jar"
            flags = ["public", "!static"]
            level = "time"

            [[rule]]
            name = "plugins"
            loader = "plugins"
            level = "time"

            [[rule]]
            name = "callers"
            loader = "*$AppClassLoader"
            class = "beta.*"
            calls = "alpha.Part.*"
            level = "time"

            [[rule]]
            name = "sql"
            module = "java.sql"
            method = "valueOf(String)"
            size = ">=20"
            level = "time"

            [[rule]]
            name = "idle"
            class = "beta.*"
            jar = "delta.jar"

            [[rule]]
            name = "absent"
            class = "delta.*"
            """;
    private static final Map<String, Long> ONCE =
            Map.of("alpha.Part.work", 1L, "gamma.Part.run", 1L, "beta.Part.forward", 1L, "java.sql.Date.valueOf", 1L);

    @EachJdk
    void atTheStart(Jdk jdk) {
        Path directory = RunDirectories.create();
        AgentConfig config = AgentConfig.of(RULES).ungoverned();
        String option = Program.agentOption(config.writeTo(directory).toString());
        // Without -Xrs the check prints a line where the tests run with SIGHUP ignored.
        try (Dialog program = program(jdk, directory).with("-Xcheck:jni", "-Xrs").talk(List.of(option), directory)) {
            assertEquals("done 32026-11-23", program.ask("go"));
            program.send("quit");
            assertChosen(program.finish().assertExitCode(0));
        }
    }

    @EachJdk(having = "jcmd")
    void classesLoadedBeforeTheAgent(Jdk jdk) {
        Path directory = RunDirectories.create();
        try (Dialog program = program(jdk, directory).talk(List.of(), directory)) {
            program.ask("go");
            Path config = Attachment.prepare(directory, "attached", AgentConfig.of(RULES).ungoverned());
            Attachment.attach(jdk, program, config);
            assertEquals("done 32026-11-23", program.ask("go"));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertChosen(Attachment.leftBehind(directory, "attached"));
    }

    private static Program program(Jdk jdk, Path root) {
        Path alpha = compiled(root, "alpha-classes", List.of(), ALPHA);
        Path beta = compiled(root, "beta-classes", List.of(alpha), BETA);
        Path gamma = compiled(root, "gamma-classes", List.of(alpha), GAMMA);
        Path main = compiled(root, "main", List.of(alpha, beta), MAIN);
        Path alphaJar = jar(alpha, root.resolve("alpha 1.2.jar"));
        String classPath = String.join(":", main.toString(), alphaJar.toString(), jar(beta, root.resolve("beta.jar")).toString());
        return Program.of(jdk, List.of("-cp", classPath), List.of("app.Main", gamma.toString()));
    }

    private static void assertChosen(Finished run) {
        assertEquals(new TreeMap<>(ONCE), new TreeMap<>(run.trace().counts()));
        List<String> warnings = new ArrayList<>();
        run.stats().json().get("warnings").forEach(warning -> warnings.add(warning.textValue()));
        assertEquals(2, warnings.size(), warnings.toString());
        String idle = warnings.get(0);
        assertTrue(idle.startsWith("rule idle (") && idle.endsWith(
                ") takes no method: classes match `class`, none is from a jar that `jar` matches"), idle);
        // Every configuration of the tests has an [exclude].
        assertTrue(warnings.get(1).endsWith(
                ") takes no method: no class matches `delta.*`, apart from those that `[exclude]` names"), warnings.get(1));
    }
}
