package io.instr.jvmtests.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;

/**
 * HotSpot before 19 forgets the names of parameters when a class is retransformed (JDK-8240908), and frameworks read them. Whatever the agent
 * does to a loaded class, they stay.
 */
class ParameterNamesIT {

    private static final String NAMES = """
            package app;
            public class Names {
                /** The parameters of all constructors and methods of a class. */
                public static String of(Class<?> type) {
                    var all = new java.util.TreeSet<String>();
                    for (var constructor : type.getDeclaredConstructors()) {
                        all.add("new" + java.util.Arrays.toString(constructor.getParameters()));
                    }
                    for (var method : type.getDeclaredMethods()) {
                        all.add(method.getName() + java.util.Arrays.toString(method.getParameters()));
                    }
                    return all.toString();
                }
            }
            """;
    private static final String WORKER = """
            package app;
            public class Worker {
                private int sum;
                public Worker(final int begin, String... labels) { sum = begin + labels.length; }
                public int work(int count, final long wide, java.util.List<String> several) {
                    for (int i = 0; i < count; i++) { sum += step(i, "x"); }
                    return sum;
                }
                public static int step(int number, String text) { return number + text.length(); }
                public void none() {}
            }
            """;
    private static final String TALK = """
            package app;
            public class Talk {
                public static void main(String[] none) throws Exception {
                    var input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
                    var worker = new Worker(1);
                    System.out.println("ready");
                    for (String line = input.readLine(); line != null && !line.equals("quit"); line = input.readLine()) {
                        System.out.println(line.equals("names") ? Names.of(Worker.class) : worker.work(Integer.parseInt(line), 1L, null));
                    }
                }
            }
            """;

    /** What is above these classes is unknown when they come, and turns out to be wanted. */
    @EachJdk
    void ofClassesThatAreTakenLate(Jdk jdk) {
        Path root = RunDirectories.create();
        Path classes = Compilation.compiledWith(List.of("-parameters"), root, "classes", List.of(), NAMES,
                "package late; public interface Wanted { int work(int number, String label); }",
                "package late; public interface Middle extends Wanted {}",
                "package late; public abstract class Base implements Middle { public Base(int first) {} protected int add(int left, final int right) { return left + right; } }",
                "package late; public class One extends Base { public One(int first, long second) { super(first); } @Override public int work(int number, String label) { return add(number, 1); } }",
                "package late; public class Two extends Base { public Two(int first, long second) { super(first); } @Override public int work(int number, String label) { return add(number, 2); } }",
                """
                package late;
                public class Main {
                    public static void main(String[] none) {
                        int sum = new One(1, 2).work(1, "one") + new Two(1, 2).work(2, "two");
                        System.out.println(sum + app.Names.of(One.class) + app.Names.of(Two.class) + app.Names.of(Base.class));
                    }
                }
                """);
        Path jar = Compilation.jar(classes, root.resolve("late.jar"));
        Program program = Program.of(jdk, List.of("-cp", jar.toString(), "-Xverify:all"), List.of("late.Main"));
        Finished run = program.compare(AgentConfig.of("""
                [[rule]]
                extends = "late.Wanted"
                method = ["work", "add"]
                level = "time"
                """).ungoverned());
        assertEquals(Map.of("late.One.work", 1L, "late.Two.work", 1L, "late.Base.add", 2L), run.trace().counts());
        assertEquals(Map.of(), run.stats().refused());
    }

    @EachJdk(having = "jcmd")
    void whenTheAgentIsAttachedAndDetachedTwice(Jdk jdk) {
        Path directory = RunDirectories.create();
        try (Dialog program = talk(jdk, directory, List.of())) {
            String names = program.ask("names");
            for (String stay : List.of("first", "second")) {
                Attachment.attach(jdk, program, config(directory, stay));
                assertEquals(names, program.ask("names"), "attached");
                program.ask("10");
                Attachment.detach(jdk, program);
                assertEquals(names, program.ask("names"), "detached");
                program.ask("1000");
            }
            program.send("quit");
            assertQuiet(program.finish());
        }
        for (String stay : List.of("first", "second")) {
            Finished left = Attachment.leftBehind(directory, stay);
            assertEquals(Map.of("app.Worker.work", 1L, "app.Worker.step", 10L), left.trace().counts(), stay);
            assertEquals(Map.of(), left.stats().refused());
        }
    }

    /** A stopped recording needs no class hook, but restoring the classes does. */
    @EachJdk(having = "jcmd")
    void whenTheRecordingWasStoppedBeforeTheAgentIsDetached(Jdk jdk) {
        Path directory = RunDirectories.create();
        try (Dialog program = talk(jdk, directory, List.of())) {
            String names = program.ask("names");
            Attachment.attach(jdk, program, config(directory, "stopped"));
            program.ask("10");
            String stopped = ControlSocket.ask(program, "{\"ask\":\"stop\"}");
            assertTrue(stopped.contains("\"lost\":0"), stopped);
            assertEquals(names, program.ask("names"), "stopped");
            Attachment.detach(jdk, program);
            assertEquals(names, program.ask("names"), "detached");
            program.send("quit");
            assertQuiet(program.finish());
        }
    }

    /** Such a class was rewritten when it was loaded, so the JVM has kept its file: its original bodies are restored. */
    @EachJdk(having = "jcmd")
    void whenTheAgentWasThereFromTheBeginningAndGoes(Jdk jdk) {
        Path directory = RunDirectories.create();
        Path config = config(directory, "start");
        try (Dialog program = talk(jdk, directory, List.of(Program.agentOption(config.toString())))) {
            String names = program.ask("names");
            assertNotEquals(-1, names.indexOf("final long wide"), names);
            program.ask("10");
            Attachment.detach(jdk, program);
            assertEquals(names, program.ask("names"), "detached");
            program.ask("1000");
            Attachment.attach(jdk, program, config(directory, "again"));
            assertEquals(names, program.ask("names"), "attached again");
            program.ask("20");
            program.send("quit");
            assertQuiet(program.finish());
        }
        assertEquals(10, Attachment.leftBehind(directory, "start").trace().count("app.Worker.step"));
        assertEquals(20, Attachment.leftBehind(directory, "again").trace().count("app.Worker.step"));
    }

    /** Whoever cannot be sure of the names leaves the class alone. */
    @EachJdk(having = "jcmd")
    void whenTheClassFileIsAnotherOneByNow(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        List<String> parameters = List.of("-parameters");
        Path later = Compilation.compiledWith(parameters, directory, "later", List.of(), WORKER.replace("int number, String text", "int which, String text")
                .replace("return number +", "return which +"));
        try (Dialog program = talk(jdk, directory, List.of())) {
            String names = program.ask("names");
            Files.copy(later.resolve("app/Worker.class"), directory.resolve("classes/app/Worker.class"), StandardCopyOption.REPLACE_EXISTING);
            Attachment.attach(jdk, program, config(directory, "stay"));
            assertEquals(names, program.ask("names"));
            program.ask("10");
            program.send("quit");
            assertQuiet(program.finish());
        }
        Finished left = Attachment.leftBehind(directory, "stay");
        boolean losesNames = jdk.feature() < 19;
        assertEquals(losesNames ? Map.of("hotspot-8240908", 1L) : Map.of(), left.stats().refused());
        assertEquals(losesNames ? 0 : 10, left.trace().count("app.Worker.step"));
    }

    /** A record may have names as well, but what HotSpot does to its type annotations (JDK-8376185) nobody can put right. */
    @EachJdk(having = "javac")
    void ofARecordThatMustNotBeRetransformed(Jdk jdk) {
        Path directory = RunDirectories.create();
        Path classes = directory.resolve("classes");
        Path worker = Compilation.write(directory.resolve("Worker.java"), """
                package app;
                import java.lang.annotation.*;
                public record Worker(@Marked int begin) {
                    @Target(ElementType.TYPE_USE) @Retention(RetentionPolicy.RUNTIME) @interface Marked {}
                    public Worker { begin++; }
                    public int work(int count, long wide, java.util.List<String> several) { return begin + count; }
                }
                """);
        Path names = Compilation.write(directory.resolve("Names.java"), NAMES);
        Compilation.javac(jdk, classes, List.of(worker, names, Compilation.write(directory.resolve("Talk.java"), TALK)));
        Path config = config(directory, "start");
        try (Dialog program = talk(jdk, classes, directory, List.of(Program.agentOption(config.toString())))) {
            String parameters = program.ask("names");
            program.ask("10");
            Attachment.detach(jdk, program);
            assertEquals(parameters, program.ask("names"));
            program.send("quit");
            Finished run = program.finish().assertExitCode(0);
            assertEquals(jdk.feature() <= 26, run.stderr().contains("probes stay in 1 class,"), run.stderr());
        }
    }

    private static Path config(Path directory, String name) {
        return Attachment.prepare(directory, name, AgentConfig.of("""
                [[rule]]
                class = "app.Worker"
                method = ["work", "step"]
                level = "time"
                """).ungoverned());
    }

    private static Dialog talk(Jdk jdk, Path directory, List<String> agent) {
        Path classes = Compilation.compiledWith(List.of("-parameters"), directory, "classes", List.of(), NAMES, WORKER, TALK);
        return talk(jdk, classes, directory, agent);
    }

    private static Dialog talk(Jdk jdk, Path classes, Path directory, List<String> agent) {
        Dialog program = Program.of(jdk,
                        List.of("-cp", classes.toString(), "-XX:+EnableDynamicAgentLoading", "-Xverify:all"), List.of("app.Talk"))
                .talk(agent, directory);
        assertEquals("ready", program.next());
        return program;
    }

    /** No word of classes that keep their probes either. */
    private static void assertQuiet(Finished run) {
        run.assertExitCode(0);
        assertEquals("", run.stderr());
    }
}
