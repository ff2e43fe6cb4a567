package io.instr.jvmtests.selection;

import static io.instr.jvmtests.files.Compilation.compiled;
import static io.instr.jvmtests.files.Compilation.write;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A rule by super type, decided about classes whose super types nobody has loaded yet, over a class path with every kind of element
 * and in loaders of the application's own: which of several classes of a name is the super type is for the loader to say, however the agent
 * finds out.
 */
class ClassPathTypesIT {

    private static final String WANTED = "package api; public interface Wanted { void work(); }";

    /** Type in the package, extends or implements, and nothing more. */
    private static String type(String packageName, String head) {
        return "package " + packageName + "; public abstract class Type " + head + " {}";
    }

    private static String worker(String name, String superType) {
        return "package app; public class " + name + " extends " + superType + " { public void work() { Main.done++; } }";
    }

    private static final String MAIN = """
            package app;
            public class Main {
                static int done;
                public static void main(String[] names) throws Exception {
                    for (String name : names) {
                        if (name.endsWith(".jar")) {
                            Door.instrumentation.appendToSystemClassLoaderSearch(new java.util.jar.JarFile(name));
                            continue;
                        }
                        Object worker = Class.forName("app." + name).getConstructor().newInstance();
                        worker.getClass().getMethod("work").invoke(worker);
                    }
                    System.out.println("done " + done);
                }
            }
            """;
    private static final String DOOR = """
            package app;
            public class Door {
                static java.lang.instrument.Instrumentation instrumentation;
                public static void premain(String options, java.lang.instrument.Instrumentation given) {
                    instrumentation = given;
                }
            }
            """;

    @EachJdk
    void eachElementOfTheClassPath(Jdk jdk) {
        Path root = RunDirectories.create();
        Path api = compiled(root, "api", List.of(), WANTED);
        String isWanted = "implements api.Wanted";
        // The super types, and types of the same names that are later on the class path.
        Path two = compiled(root, "two", List.of(api), type("one", isWanted), type("other", ""));
        Path twoHidden = compiled(root, "hidden", List.of(api), type("one", ""), type("other", isWanted));
        Path named = compiled(root, "named", List.of(api), type("named", isWanted));
        Path base = compiled(root, "base", List.of(api), type("variant", ""));
        Path newer = compiled(root, "newer", List.of(api), type("variant", isWanted));
        Path late = compiled(root, "late", List.of(api), type("late", isWanted));
        Path main = compiled(root, "main", List.of(api, two, named, base, late), MAIN, DOOR,
                worker("InFirst", "one.Type"), worker("InSecond", "other.Type"), worker("ByManifest", "named.Type"),
                worker("ByVariant", "variant.Type"), worker("Appended", "late.Type"));

        write(two.resolve("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\nClass-Path: named.jar\n\n");
        write(base.resolve("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\nMulti-Release: true\n\n");
        copy(newer.resolve("variant/Type.class"), base.resolve("META-INF/versions/11/variant/Type.class"));
        write(main.resolve("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\nPremain-Class: app.Door\n\n");
        Compilation.jar(named, root.resolve("named.jar"));
        Path damaged = write(root.resolve("damaged.jar"), "PK but nothing more");
        Path mainJar = Compilation.jar(main, root.resolve("main.jar"));
        List<Path> path = List.of(mainJar, api, Compilation.jar(two, root.resolve("two.jar")), twoHidden,
                Compilation.jar(base, root.resolve("base.jar")));

        assertTraced(jdk, mainJar, path, Compilation.jar(late, root.resolve("late.jar")));
        List<Path> behindDamaged = new ArrayList<>(path);
        behindDamaged.add(0, damaged);
        assertTraced(jdk, mainJar, behindDamaged, root.resolve("late.jar"));
    }

    private static final String PLUGINS = """
            package app;
            import java.io.File;
            import java.net.URL;
            import java.net.URLClassLoader;
            import java.nio.file.Files;
            import java.nio.file.Path;
            import java.nio.file.StandardCopyOption;
            public class Plugins {
                public static int done;
                static Path root;
                public static void main(String[] arguments) throws Exception {
                    root = Path.of(arguments[0]);
                    ClassLoader application = Plugins.class.getClassLoader();
                    for (String version : new String[] {"two.jar", "one.jar", "two.jar"}) {
                        run(loader(application, version, "workers.jar"), "InVersion");
                    }
                    run(loader(application, "one.jar", "workers.jar"), "ByParent");
                    run(loader(loader(application, "one.jar"), "two.jar", "workers.jar"), "ByChain");
                    run(loader(loader(application, "two.jar"), "one.jar", "workers.jar"), "BySecondChain");
                    run(loader(application, "variants.jar", "workers.jar"), "ByVariant");
                    run(loader(application, "damaged.jar", "one.jar", "workers.jar"), "BehindDamaged");
                    run(loader(application, "two/", "one.jar", "workers/"), "BehindDirectory");
                    run(loader(null, "api/", "one.jar", "bare/", "counter/"), "WithoutParent");

                    URLClassLoader grows = loader(application, "workers.jar");
                    run(grows, "Alone");
                    var add = URLClassLoader.class.getDeclaredMethod("addURL", URL.class);
                    add.setAccessible(true);
                    add.invoke(grows, url("one.jar"));
                    run(grows, "Added");

                    loader(application, "replaced.jar").loadClass("version.Opener");
                    copy("two.jar", "new.jar");
                    Files.move(root.resolve("new.jar"), root.resolve("replaced.jar"), StandardCopyOption.REPLACE_EXISTING);
                    URLClassLoader deleted = loader(application, "deleted.jar", "two.jar", "workers.jar");
                    deleted.loadClass("version.Opener");
                    Files.delete(root.resolve("deleted.jar"));
                    run(deleted, "ByDeleted");
                    run(loader(application, "replaced.jar", "workers.jar"), "ByNew");
                    copy("one.jar", "replaced.jar");
                    copy("one.jar", "deleted.jar");
                    System.out.println("done " + done);
                }
                static void copy(String from, String to) throws Exception {
                    Files.copy(root.resolve(from), root.resolve(to), StandardCopyOption.REPLACE_EXISTING);
                }
                static URL url(String element) throws Exception {
                    return new URL("file:" + root + "/" + element);
                }
                static URLClassLoader loader(ClassLoader parent, String... elements) throws Exception {
                    URL[] urls = new URL[elements.length];
                    for (int i = 0; i < urls.length; i++) {
                        urls[i] = url(elements[i]);
                    }
                    return new URLClassLoader(urls, parent);
                }
                static void run(ClassLoader loader, String name) throws Exception {
                    Object worker = loader.loadClass("plug." + name).getConstructor().newInstance();
                    worker.getClass().getMethod("work").invoke(worker);
                }
            }
            """;

    /** Two versions of a type in the jars of several loaders, jars that are damaged, replaced, deleted, added later. */
    @EachJdk
    void urlClassLoadersOfTheApplication(Jdk jdk) {
        Path root = RunDirectories.create();
        Path api = compiled(root, "api", List.of(), WANTED);
        String isWanted = "implements api.Wanted";
        String opener = "package version; public class Opener {}";
        Path one = compiled(root, "one", List.of(api), type("version", isWanted), type("parent", isWanted), opener);
        Path two = compiled(root, "two", List.of(api), type("version", ""), opener);
        Path newer = compiled(root, "newer", List.of(api), type("version", isWanted));
        Path main = compiled(root, "main", List.of(api), PLUGINS, type("parent", ""));
        Path counter = compiled(root, "counter", List.of(), "package app; public class Plugins { public static int done; }");
        List<Path> compilePath = List.of(main, api, one);
        Path workers = compiled(root, "workers", compilePath, plugin("Alone", "parent.Type"), plugin("InVersion", "version.Type"),
                plugin("ByParent", "parent.Type"), plugin("ByChain", "version.Type"), plugin("BySecondChain", "version.Type"),
                plugin("ByVariant", "version.Type"), plugin("BehindDamaged", "version.Type"),
                plugin("BehindDirectory", "version.Type"), plugin("Added", "version.Type"),
                plugin("ByDeleted", "version.Type"), plugin("ByNew", "version.Type"));
        compiled(root, "bare", List.of(counter, api, one), plugin("WithoutParent", "version.Type"));
        for (String name : List.of("one.jar", "replaced.jar", "deleted.jar")) {
            Compilation.jar(one, root.resolve(name));
        }
        Path variants = compiled(root, "variants", List.of(), type("version", ""));
        write(variants.resolve("META-INF/MANIFEST.MF"), "Manifest-Version: 1.0\nMulti-Release: true\n\n");
        copy(newer.resolve("version/Type.class"), variants.resolve("META-INF/versions/11/version/Type.class"));
        Compilation.jar(variants, root.resolve("variants.jar"));
        Compilation.jar(two, root.resolve("two.jar"));
        Compilation.jar(workers, root.resolve("workers.jar"));
        write(root.resolve("damaged.jar"), "PK but nothing more");

        Program program = Program.of(jdk,
                List.of("-cp", main + ":" + api, "--add-opens=java.base/java.net=ALL-UNNAMED", "-Xverify:all"),
                List.of("app.Plugins", root.toString()));
        Finished run = program.compare(WANTED_BY_TYPE);
        Map<String, Long> expected = new TreeMap<>();
        for (String name : List.of("InVersion", "ByChain", "ByVariant", "BehindDamaged", "WithoutParent", "Added",
                "ByDeleted")) {
            expected.put("plug." + name + ".work", 1L);
        }
        assertEquals(expected, new TreeMap<>(run.trace().counts()));
    }

    private static String plugin(String name, String superType) {
        return "package plug; public class " + name + " extends " + superType + " { public void work() { app.Plugins.done++; } }";
    }

    private static final AgentConfig WANTED_BY_TYPE = AgentConfig.of("""
            [[rule]]
            extends = "api.Wanted"
            method = "work"
            level = "time"
            """).ungoverned();

    private static void assertTraced(Jdk jdk, Path mainJar, List<Path> classPath, Path late) {
        String path = String.join(":", classPath.stream().map(Path::toString).toList());
        Program program = Program.of(jdk, List.of("-cp", path, "-javaagent:" + mainJar, "-Xverify:all"),
                List.of("app.Main", "InFirst", "InSecond", "ByManifest", "ByVariant", late.toString(), "Appended"));
        Finished run = program.compare(WANTED_BY_TYPE);
        Map<String, Long> expected = new TreeMap<>(Map.of(
                "app.InFirst.work", 1L, "app.ByManifest.work", 1L, "app.ByVariant.work", 1L, "app.Appended.work", 1L));
        assertEquals(expected, new TreeMap<>(run.trace().counts()), path);
    }

    private static void copy(Path from, Path to) {
        try {
            Files.createDirectories(to.getParent());
            Files.copy(from, to);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
