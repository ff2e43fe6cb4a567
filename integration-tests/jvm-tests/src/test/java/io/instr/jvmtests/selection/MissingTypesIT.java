package io.instr.jvmtests.selection;

import static io.instr.jvmtests.files.Compilation.compiled;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
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
import java.util.stream.Stream;

/**
 * Types that rules ask for, which are missing where a loader looks, or are classes. Then the agent does not read super types that nobody
 * has loaded. In each test a type turns up after all, by one of the ways in which that can happen while a program runs: the next class that has
 * it above a super type that nobody has loaded must be taken.
 */
class MissingTypesIT {

    /** Each argument is a step; workers are run by the loader that was made last. */
    private static final String STEPS = """
            package app;
            import java.net.URL;
            import java.net.URLClassLoader;
            import java.nio.file.Files;
            import java.nio.file.Path;
            public class Steps {
                public static int done;
                public static void main(String[] steps) throws Exception {
                    ClassLoader loader = Steps.class.getClassLoader();
                    for (String step : steps) {
                        String what = step.substring(step.indexOf('=') + 1);
                        switch (step.substring(0, step.indexOf('='))) {
                            case "run": run(loader, what); break;
                            case "together": together(loader, what.split(",")); break;
                            case "fail": {
                                try {
                                    run(loader, what);
                                    throw new IllegalStateException(step);
                                } catch (LinkageError incomplete) {
                                    break;
                                }
                            }
                            case "copy": {
                                Path to = Path.of(what.split(">")[1]);
                                Files.createDirectories(to.getParent());
                                Files.copy(Path.of(what.split(">")[0]), to);
                                break;
                            }
                            case "define": late.Door.define(Files.readAllBytes(Path.of(what))); break;
                            case "child": loader = new URLClassLoader(urls(what), Steps.class.getClassLoader()); break;
                            case "below": loader = new URLClassLoader(urls(what), loader); break;
                            case "orphan": loader = new URLClassLoader(urls(what), null); break;
                            case "add": {
                                var add = URLClassLoader.class.getDeclaredMethod("addURL", URL.class);
                                add.setAccessible(true);
                                add.invoke(loader, urls(what)[0]);
                                break;
                            }
                            default: throw new IllegalArgumentException(step);
                        }
                    }
                    System.out.println("done");
                }
                private static void run(ClassLoader loader, String name) throws Exception {
                    Object worker = loader.loadClass(name).getConstructor().newInstance();
                    worker.getClass().getMethod("work").invoke(worker);
                }
                /** Each on a thread of its own, all at once. */
                private static void together(ClassLoader loader, String[] names) throws Exception {
                    var barrier = new java.util.concurrent.CyclicBarrier(names.length);
                    var threads = java.util.concurrent.Executors.newFixedThreadPool(names.length);
                    var running = new java.util.ArrayList<java.util.concurrent.Future<?>>();
                    for (String name : names) {
                        running.add(threads.submit(() -> {
                            barrier.await();
                            run(loader, name);
                            return null;
                        }));
                    }
                    for (var one : running) {
                        one.get();
                    }
                    threads.shutdown();
                }
                private static URL[] urls(String elements) throws Exception {
                    String[] names = elements.split(",");
                    URL[] urls = new URL[names.length];
                    for (int i = 0; i < names.length; i++) {
                        urls[i] = new URL("file:" + names[i]);
                    }
                    return urls;
                }
            }
            """;
    /** Defines classes in its package and its loader, out of nowhere. */
    private static final String DOOR = """
            package late;
            public class Door {
                public static void define(byte[] type) throws Exception {
                    java.lang.invoke.MethodHandles.lookup().defineClass(type);
                }
            }
            """;
    private static final String INTERFACE = "package late; public interface Wanted {}";
    private static final String CLASS = "package late; public abstract class Wanted {}";

    /** `First` has the wanted type above an interface of its super class, the others above that. */
    private static final String[] CHAIN = {
        "package chain; public interface Top extends late.Wanted {}",
        "package chain; public interface Middle extends Top {}",
        "package chain; public abstract class Base implements Middle { protected int same(int number) { return number; } }",
        "package chain; public class First extends Base { public void work() { same(1); } public void other(int number) {} }",
        "package chain; public interface Side extends Middle {}",
        "package chain; public abstract class Step implements Side { protected int same(int number) { return number; } }",
        "package chain; public class Second extends Step { public void work() { same(1); } public void other(int number) {} }",
        "package chain; public interface Far { default void far(int number) {} }",
        "package chain; public abstract class Long extends Second implements Far {}",
        "package chain; public class Third extends Long { @Override public void work() { same(1); } @Override public void other(int number) {} }",
    };

    /** The parts of a program: `first.Worker` has nothing to do with the wanted type, `second.Worker` has it two steps above it. */
    private record Parts(Path root, Path mainJar, Path workers, Path wanted) {

        static Parts of(String wantedType, String isWanted) {
            Path root = RunDirectories.create();
            Path main = compiled(root, "main", List.of(), STEPS, DOOR);
            Path wanted = compiled(root, "wanted", List.of(), wantedType);
            Path workers = compiled(root, "workers", List.of(wanted),
                    "package first; public class Base {}",
                    "package first; public class Worker extends Base { public void work() {} }",
                    "package second; public abstract class Base %s {}".formatted(isWanted),
                    "package second; public class Worker extends Base { public void work() {} }");
            Compilation.jar(workers, root.resolve("workers.jar"));
            Compilation.jar(wanted, root.resolve("wanted.jar"));
            return new Parts(root, Compilation.jar(main, root.resolve("main.jar")), root.resolve("workers.jar"), wanted);
        }

        Path wantedJar() {
            return root.resolve("wanted.jar");
        }

        Path wantedClass() {
            return wanted.resolve("late/Wanted.class");
        }
    }

    @EachJdk
    void definedWhileTheProgramRuns(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        assertTraced(jdk, List.of(parts.mainJar, parts.workers), Map.of("second.Worker.work", 1L),
                "run=first.Worker", "define=" + parts.wantedClass(), "run=second.Worker");
    }

    @EachJdk
    void writtenIntoADirectoryOfTheClassPath(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        Path directory = compiled(parts.root, "directory", List.of(), "package other; public class Type {}");
        assertTraced(jdk, List.of(parts.mainJar, directory, parts.workers), Map.of("second.Worker.work", 1L),
                "run=first.Worker", "copy=" + parts.wantedClass() + ">" + directory.resolve("late/Wanted.class"),
                "run=second.Worker");
    }

    @EachJdk
    void addedToALoader(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        assertTraced(jdk, List.of(parts.mainJar), Map.of("second.Worker.work", 1L),
                "child=" + parts.workers, "run=first.Worker", "add=" + parts.wantedJar(), "run=second.Worker");
    }

    @EachJdk
    void inTheParentOfALoader(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        Path empty = Compilation.jar(compiled(parts.root, "empty", List.of(), "package other; public class Type {}"),
                parts.root.resolve("empty.jar"));
        assertTraced(jdk, List.of(parts.mainJar), Map.of("second.Worker.work", 1L),
                "child=" + parts.wantedJar(), "below=" + parts.workers + "," + empty, "run=first.Worker", "run=second.Worker");
    }

    @EachJdk
    void inALoaderThatIsCreatedLater(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        assertTraced(jdk, List.of(parts.mainJar, parts.workers), Map.of("second.Worker.work", 1L),
                "run=first.Worker", "orphan=" + parts.workers + "," + parts.wantedJar(), "run=first.Worker", "run=second.Worker");
    }

    /** The wanted type is a class: interfaces are not read, super classes are. */
    @EachJdk
    void aClassAboveASuperClass(Jdk jdk) {
        Parts parts = Parts.of(CLASS, "extends late.Wanted");
        assertTraced(jdk, List.of(parts.mainJar, parts.workers, parts.wantedJar()), Map.of("second.Worker.work", 1L),
                "run=first.Worker", "run=second.Worker");
    }

    /** The type is on the class path from the beginning, but it is first loaded for a class that has it as a distant super type. */
    @EachJdk
    void anInterfaceAboveInterfacesOfSuperClasses(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        Path chain = compiled(parts.root, "chain", List.of(parts.wanted), CHAIN);
        assertTraced(jdk, List.of(parts.mainJar, parts.workers, Compilation.jar(chain, parts.root.resolve("chain.jar")), parts.wantedJar()),
                Map.of("chain.First.work", 1L, "chain.Second.work", 1L, "chain.Third.work", 2L),
                "run=first.Worker", "run=chain.First", "run=chain.Second", "run=chain.Third", "run=chain.Third", "run=first.Worker");
    }

    /** The same with classes that HotSpot before 19 cannot retransform: they do not wait for their super types. */
    @EachJdk
    void aboveClassesThatCannotBeRetransformed(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        Path chain = Compilation.compiledWith(List.of("-parameters"), parts.root, "chain", List.of(parts.wanted), CHAIN);
        Path jar = Compilation.jar(chain, parts.root.resolve("chain.jar"));
        Map<String, Long> expected = Map.of("chain.First.work", 1L, "chain.Second.work", 1L, "chain.Third.work", 1L);
        assertTraced(jdk, List.of(parts.mainJar, parts.workers, jar, parts.wantedJar()), expected,
                "run=first.Worker", "run=chain.First", "run=chain.Second", "run=chain.Third");
        assertTraced(jdk, List.of(parts.mainJar), expected, "child=" + jar + "," + parts.wantedJar() + "," + parts.workers,
                "run=first.Worker", "run=chain.First", "run=chain.Second", "run=chain.Third");
    }

    /** First such classes wait for their super types; as many of them are wanted, these are read from then on. */
    @EachJdk
    void manyClassesThatAreWanted(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        List<String> sources = new ArrayList<>();
        List<String> steps = new ArrayList<>(List.of("run=first.Worker"));
        Map<String, Long> expected = new TreeMap<>();
        for (int number = 0; number < 24; number++) {
            sources.add("package many; public interface Middle%d extends late.Wanted {}".formatted(number));
            sources.add("package many; public abstract class Base%1$d implements Middle%1$d {}".formatted(number));
            sources.add("package many; public class Worker%1$d extends Base%1$d { public void work() {} }".formatted(number));
            sources.add("package many; public abstract class Idle%d {}".formatted(number));
            sources.add("package many; public class Other%1$d extends Idle%1$d { public void work() {} }".formatted(number));
            steps.addAll(List.of("run=many.Worker" + number, "run=many.Other" + number));
            expected.put("many.Worker" + number + ".work", 1L);
        }
        Path many = compiled(parts.root, "many", List.of(parts.wanted), sources.toArray(String[]::new));
        Path jar = Compilation.jar(many, parts.root.resolve("many.jar"));
        assertTraced(jdk, List.of(parts.mainJar, parts.workers, jar, parts.wantedJar()), expected, steps.toArray(String[]::new));
        assertTraced(jdk, List.of(parts.mainJar, parts.wantedJar()), expected,
                Stream.concat(Stream.of("child=" + parts.workers + "," + jar), steps.stream()).toArray(String[]::new));
    }

    /** The super type is defined by the parent of the loader whose class waits for it. */
    @EachJdk
    void aSuperTypeOfTheParentLoader(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        Path below = compiled(parts.root, "below", List.of(parts.wanted, parts.root.resolve("workers")),
                "package below; public class Worker extends second.Base { public void work() {} }",
                "package below; public class Other extends first.Base { public void work() {} }",
                "package below; public class First implements late.Wanted { public void work() {} }");
        Path jar = Compilation.jar(below, parts.root.resolve("below.jar"));
        assertTraced(jdk, List.of(parts.mainJar, parts.workers, parts.wantedJar()),
                Map.of("below.First.work", 1L, "below.Worker.work", 1L),
                "child=" + jar, "run=below.First", "run=below.Other", "run=below.Worker");
    }

    /** A class for one loader, an interface for another. */
    @EachJdk
    void aClassHereAndAnInterfaceThere(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        Path other = compiled(parts.root, "other", List.of(), CLASS);
        Path more = compiled(parts.root, "more", List.of(parts.wanted),
                "package third; public interface Middle extends late.Wanted {}",
                "package third; public class Worker implements Middle { public void work() {} }");
        assertTraced(jdk, List.of(parts.mainJar, Compilation.jar(other, parts.root.resolve("other.jar")), parts.workers),
                Map.of("third.Worker.work", 1L),
                "run=first.Worker",
                "orphan=" + Compilation.jar(more, parts.root.resolve("more.jar")) + "," + parts.wantedJar(), "run=third.Worker");
    }

    /** Super types of several classes are on their way at once when the first of them turns out to be wanted. */
    @EachJdk
    void onSeveralThreadsAtOnce(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        List<String> sources = new ArrayList<>();
        Map<String, Long> expected = new TreeMap<>();
        List<String> names = new ArrayList<>();
        for (int thread = 0; thread < 12; thread++) {
            String type = "package many; public abstract class Base%d_%d %s {}";
            sources.add(type.formatted(thread, 0, "implements late.Wanted"));
            int depth = thread % 4 + 1;
            for (int step = 1; step <= depth; step++) {
                sources.add(type.formatted(thread, step, "extends Base" + thread + "_" + (step - 1)));
            }
            sources.add("package many; public class Worker%1$d extends Base%1$d_%2$d { public void work() {} }"
                    .formatted(thread, depth));
            names.add("many.Worker" + thread);
            expected.put("many.Worker" + thread + ".work", 1L);
        }
        Path many = compiled(parts.root, "many", List.of(parts.wanted), sources.toArray(String[]::new));
        Compilation.jar(many, parts.root.resolve("many.jar"));
        assertTraced(jdk, List.of(parts.mainJar), expected,
                "child=" + parts.workers + "," + parts.root.resolve("many.jar"), "run=first.Worker",
                "add=" + parts.wantedJar(), "together=" + String.join(",", names));
    }

    /** What one loader has as a super type says nothing about the one of another. */
    @EachJdk
    void twoVersionsOfASuperType(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        Path plain = compiled(parts.root, "plain", List.of(), "package second; public abstract class Base {}",
                "package second; public class Worker extends Base { public void work() {} }");
        Path plainJar = Compilation.jar(plain, parts.root.resolve("plain.jar"));
        assertTraced(jdk, List.of(parts.mainJar), Map.of("second.Worker.work", 1L),
                "child=" + plainJar, "run=second.Worker", "child=" + parts.workers, "run=first.Worker",
                "add=" + parts.wantedJar(), "run=second.Worker", "child=" + plainJar, "run=second.Worker");
    }

    /** The hook saw the class before, but it could not be loaded, because the type was missing. */
    @EachJdk
    void aClassThatCouldNotBeLoadedBefore(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        Path directory = compiled(parts.root, "directory", List.of(), "package other; public class Type {}");
        assertTraced(jdk, List.of(parts.mainJar, directory, parts.workers), Map.of("second.Worker.work", 1L),
                "run=first.Worker", "fail=second.Worker",
                "copy=" + parts.wantedClass() + ">" + directory.resolve("late/Wanted.class"), "run=second.Worker");
    }

    /** A wrapper can only be put in while the class is loaded. */
    @EachJdk
    void forAWrapper(Jdk jdk) {
        Parts parts = Parts.of(INTERFACE, "implements late.Wanted");
        assertTraced(jdk, "wrapper", List.of(parts.mainJar), Map.of("second.Worker.work", 1L),
                "child=" + parts.workers, "run=first.Worker", "add=" + parts.wantedJar(), "run=second.Worker");
    }

    private static void assertTraced(Jdk jdk, List<Path> classPath, Map<String, Long> expected, String... steps) {
        assertTraced(jdk, "inline", classPath, expected, steps);
    }

    private static void assertTraced(Jdk jdk, String mode, List<Path> classPath, Map<String, Long> expected, String... steps) {
        String path = String.join(":", classPath.stream().map(Path::toString).toList());
        Program program = Program.of(jdk,
                List.of("-cp", path, "--add-opens=java.base/java.net=ALL-UNNAMED", "-Xverify:all"),
                Stream.concat(Stream.of("app.Steps"), Stream.of(steps)).toList());
        // Run once only: the steps change the files.
        Finished run = program.withAgent(AgentConfig.of("""
                [[rule]]
                extends = "late.Wanted"
                method = "work"
                level = "time"
                mode = "%s"
                """.formatted(mode)).ungoverned()).assertExitCode(0);
        assertEquals(new TreeMap<>(expected), new TreeMap<>(run.trace().counts()), String.join(" ", steps));
    }
}
