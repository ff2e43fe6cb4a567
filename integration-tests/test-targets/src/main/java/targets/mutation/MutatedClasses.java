package targets.mutation;

import java.io.File;
import java.io.IOException;
import java.lang.annotation.AnnotationFormatError;
import java.lang.reflect.Executable;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.jar.JarFile;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;

/**
 * {@code MutatedClasses SEED COUNT JAR...}: damages copies of the classes of the jars and has the JVM define and link each.
 * Prints what became of each, and leaves in the file {@code memory} the most memory that the process has had, in KiB.
 */
public final class MutatedClasses {

    private static final int MOST_CLASSES = 1_500;

    /** For looking into a difference: what the JVM says. */
    private static final boolean TELL = Boolean.getBoolean("tell");

    private final Random random;
    private final ClassLoader library;
    private final List<byte[]> classes;
    private final Map<Mutation, Map<String, Integer>> totals = new EnumMap<>(Mutation.class);

    private MutatedClasses(long seed, List<File> jars) throws IOException {
        random = new Random(seed);
        library = new URLClassLoader(jars.stream().map(MutatedClasses::url).toArray(URL[]::new));
        classes = new ArrayList<>();
        List<ZipEntry> entries = new ArrayList<>();
        for (File jar : jars) {
            try (JarFile file = new JarFile(jar)) {
                file.stream().filter(entry -> entry.getName().endsWith(".class") && !entry.getName().startsWith("META-INF"))
                        .forEach(entries::add);
            }
        }
        int step = entries.size() / MOST_CLASSES + 1;
        for (int i = 0; i < entries.size(); i += step) {
            classes.add(library.getResourceAsStream(entries.get(i).getName()).readAllBytes());
        }
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]);
        List<File> jars = Stream.of(arguments).skip(2).map(File::new).collect(Collectors.toList());
        MutatedClasses mutated = new MutatedClasses(Long.parseLong(arguments[0]), jars);
        for (int i = 0; i < count; i++) {
            String outcome = i + " " + mutated.next();
            System.out.println(outcome);
            if (TELL) {
                System.err.println(outcome);
            }
        }
        mutated.totals.forEach((mutation, outcomes) -> System.out.println("total " + mutation + " " + outcomes));
        System.out.println("good " + goesOn());
        Files.writeString(Path.of("memory"), peakMemory());
    }

    private String next() {
        Mutation mutation = Mutation.values()[random.nextInt(Mutation.values().length)];
        byte[] original = classes.get(random.nextInt(classes.size()));
        byte[] bytes = mutation.apply(original.clone(), classes.get(random.nextInt(classes.size())), random);
        String outcome = outcome(bytes);
        String kind = outcome.split(" ")[0];
        totals.computeIfAbsent(mutation, key -> new TreeMap<>()).merge(kind, 1, Integer::sum);
        return mutation + " " + outcome;
    }

    /** Defined, linked and described; or where it ended and with which error. */
    private String outcome(byte[] bytes) {
        Class<?> defined;
        try {
            defined = new OneClassLoader(library).define(bytes);
        } catch (LinkageError | AnnotationFormatError | RuntimeException refused) {
            if (TELL) {
                System.err.println(refused);
            }
            return refused.getClass().getSimpleName();
        }
        try {
            // This links the class, and so verifies it, but does not run its code.
            List<Executable> executables = new ArrayList<>(Arrays.asList(defined.getDeclaredConstructors()));
            executables.addAll(Arrays.asList(defined.getDeclaredMethods()));
            // A method without room for its probe is wrapped: the original is one synthetic method more.
            executables.removeIf(executable -> executable.isSynthetic() && executable.getName().endsWith("$instr"));
            return "linked " + executables.stream().map(MutatedClasses::describe).sorted().collect(Collectors.toList()).hashCode();
        } catch (LinkageError | AnnotationFormatError | RuntimeException refused) {
            if (TELL) {
                System.err.println(refused);
            }
            String message = String.valueOf(refused.getMessage());
            String detail = message.contains("Exceeded max stack size") ? "-no-room-for-operands"
                    : message.contains("Wrong return type in function") ? "-wrong-result" : "";
            return "defined-then-" + refused.getClass().getSimpleName() + detail;
        }
    }

    private static String describe(Executable executable) {
        String text = executable.toString();
        try {
            // Not the annotations' own text: it follows the order that the JVM gave to their methods in this run.
            return text + executable.toGenericString() + Arrays.toString(executable.getParameters())
                    + Arrays.stream(executable.getAnnotations())
                            .map(annotation -> annotation.annotationType().getName())
                            .collect(Collectors.toList());
        } catch (LinkageError | AnnotationFormatError | RuntimeException refused) {
            // An annotation may name a constant beyond the pool's end. Constants of the agent may have this index, so that
            // reflection finds another fault than without.
            return text + " cannot be described";
        }
    }

    /** After all that, a good class is defined and runs. */
    private static String goesOn() throws Exception {
        try (var in = ClassLoader.getSystemResourceAsStream("targets/mutation/MutatedClasses$Good.class")) {
            Class<?> good = new OneClassLoader(ClassLoader.getSystemClassLoader()).define(in.readAllBytes());
            return good.getDeclaredConstructor().newInstance().toString();
        }
    }

    private static String peakMemory() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmHWM:"))
                .map(line -> line.replaceAll("\\D", ""))
                .findFirst()
                .orElseThrow();
    }

    private static URL url(File jar) {
        try {
            return jar.toURI().toURL();
        } catch (MalformedURLException e) {
            throw new IllegalArgumentException(e);
        }
    }

    /** Lives as long as its one class. */
    private static final class OneClassLoader extends ClassLoader {

        OneClassLoader(ClassLoader parent) {
            super(parent);
        }

        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** Nothing is wrong with it. */
    public static final class Good {

        @Override
        public String toString() {
            return "still runs";
        }
    }
}
