package io.instr.jvmtests.selection;

import static io.instr.jvmtests.files.Compilation.compiled;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Rules that ask for super types and annotations, in a program whose classes are loaded already: the others are not retransformed only to be
 * looked at. In a Spring Boot application these were 8,000 classes: the attach took 20 s instead of 2 s, and their compiled code was lost.
 */
class LoadedClassesIT {

    private static final String BASE = """
            package alpha;
            public class Base {
                public interface Job { int work(); }
                @java.lang.annotation.Retention(java.lang.annotation.RetentionPolicy.RUNTIME) public @interface Marked {}
                public static class Worker implements Job { public int work() { return 1; } }
                @Marked public static class Noted { public int note() { return 1; } }
                public static class Other { @Marked public int one() { return 1; } public int two() { return 1; } }
                public static class Plain { public int plain() { return 1; } }
                public static class Plainer extends Plain { public int plainer() { return 1; } }
                public static class Runner implements Runnable { public void run() { new Plainer().plain(); } }
            }
            """;
    private static final String DEEP = """
            package gamma;
            import alpha.Base;
            public class Deep extends Base.Worker implements java.util.function.IntSupplier {
                public int work() { return super.work() + 1; }
                public int getAsInt() {
                    new Base.Runner().run();
                    return work() + new Base.Noted().note() + new Base.Other().one() + new Base.Other().two() + new Base.Plainer().plainer();
                }
            }
            """;
    private static final String MAIN = """
            package app;
            import java.io.File;
            import java.net.URL;
            import java.net.URLClassLoader;
            import java.util.Scanner;
            import java.util.function.IntSupplier;
            public class Main {
                public static void main(String[] arguments) throws Exception {
                    URL[] urls = {new File(arguments[0]).toURI().toURL()};
                    ClassLoader plugins = new URLClassLoader("plugins", urls, Main.class.getClassLoader());
                    IntSupplier plugin = (IntSupplier) plugins.loadClass("gamma.Deep").getConstructor().newInstance();
                    Scanner commands = new Scanner(System.in);
                    while (commands.nextLine().equals("go")) {
                        System.out.println("done " + plugin.getAsInt());
                    }
                }
            }
            """;
    private static final String RULES = """
            [[rule]]
            extends = "alpha.Base$Job"
            level = "time"

            [[rule]]
            annotated = "alpha.Base$Marked"
            level = "time"

            [[rule]]
            method-annotated = "alpha.Base$Marked"
            level = "time"
            """;

    @EachJdk(having = "jcmd")
    void onlyClassesThatRulesMayWantAreRetransformed(Jdk jdk) {
        Path directory = RunDirectories.create();
        Path base = compiled(directory, "base", List.of(), BASE);
        Path deep = compiled(directory, "deep", List.of(base), DEEP);
        Path main = compiled(directory, "main", List.of(), MAIN);
        Program target = Program.of(jdk, List.of("-cp", base + ":" + main), List.of("app.Main", deep.toString()));
        try (Dialog program = target.talk(List.of(), directory)) {
            assertEquals("done 6", program.ask("go"));
            Attachment.attach(jdk, program, Attachment.prepare(directory, "attached", AgentConfig.of(RULES).ungoverned()));
            String status = ControlSocket.status(program);
            double classes = ControlSocket.number(status.substring(status.indexOf("\"retransforms\"")), "classes");
            assertEquals(5, classes, "Job, Worker, Deep, Noted and Other: " + status);
            assertEquals("done 6", program.ask("go"));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Map<String, Long> calls = Map.of(
                "alpha.Base$Worker.work", 1L, "gamma.Deep.work", 1L, "gamma.Deep.getAsInt", 1L,
                "alpha.Base$Noted.note", 1L, "alpha.Base$Other.one", 1L);
        assertEquals(new TreeMap<>(calls), new TreeMap<>(Attachment.leftBehind(directory, "attached").trace().counts()));
    }
}
