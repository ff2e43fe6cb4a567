package io.instr.jvmtests.hot;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import javax.tools.ToolProvider;

/**
 * A program drawn at random in which a hot method has callers on three levels: some shared, by reflection, by method references, the hot method perhaps recursive; above them perhaps tasks of a pool or
 * futures, and who hands these over. Each caller is chosen with a fixed probability, independently of all before, and counts its calls and their time itself.
 */
final class CallersGraph {

    static final String CLASS = "targets.graph.Walked";
    /** The task, where there is one. */
    static final String TASK = "Task.run";
    private static final List<String> HANDING_OVER = List.of("", "POOL.submit(task).get();", "CompletableFuture.runAsync(task).get();");
    /** The methods of each level; the last one calls the others in a loop that does not end. */
    private static final List<String> TOP = List.of("handle");

    private final long seed;
    private final Random random;
    final boolean recurses;
    final int threads;
    private final String handingOver;
    private final List<String> lower = new ArrayList<>();
    private final List<String> upper = new ArrayList<>();
    private final StringBuilder methods = new StringBuilder();
    private int edges;

    CallersGraph(long seed) {
        this.seed = seed;
        random = new Random(seed);
        recurses = random.nextInt(4) == 0;
        threads = 1;
        for (int at = 0; at < 2 + random.nextInt(2); at++) lower.add("lower" + at);
        for (int at = 0; at < 2 + random.nextInt(2); at++) upper.add("upper" + at);
        for (int at = 0; at < lower.size(); at++) caller(lower.get(at), List.of("hot"), 1 << (at * 2), 1);
        for (String method : upper) caller(method, lower, 1, 2);
        caller("handle", upper, 1, 3);
        handingOver = HANDING_OVER.get((int) (seed % HANDING_OVER.size()));
        if (isHandedOver()) {
            methods.append("    // edge handle %s%n".formatted(TASK));
            edges++;
            int ofHandle = edges - 1;
            for (String method : List.of("shop", "office", "night")) handsOver(method, method.equals("night") ? 3 : 1, ofHandle);
        }
    }

    boolean isHandedOver() {
        return !handingOver.isEmpty();
    }

    /** A method that has another thread do what it is asked for, and waits for that. The task knows the number of the edge. */
    private void handsOver(String name, int work, int ofHandle) {
        methods.append("    // edge %s %s%n".formatted(TASK, name));
        methods.append("    static void %s(int work) {%n        Task task = new Task(work * %d, %d, %d);%n".formatted(name, work, ofHandle, edges));
        methods.append("        try {%n            %s%n        } catch (Exception e) {%n            throw new IllegalStateException(e);%n        }%n    }%n%n".formatted(handingOver));
        edges++;
    }

    /** How the method is called whose loop does not end. */
    private String work() {
        if (!isHandedOver()) return "handle(work);";
        return "int drawn = ThreadLocalRandom.current().nextInt(10); if (drawn < 7) shop(work); else if (drawn < 9) office(work); else night(work);";
    }

    /** A method that makes a number of calls, each of a callee drawn anew. Of two callers, one passes on more work a call. */
    private void caller(String name, List<String> callees, int work, int calls) {
        methods.append("    static void %s(int work) {%n        for (int i = 0; i < %d; i++) {%n".formatted(name, calls));
        methods.append("            int drawn = ThreadLocalRandom.current().nextInt(100);%n".formatted());
        methods.append("            int more = work * %d;%n".formatted(work));
        int left = 100;
        for (int at = 0; at < callees.size(); at++) {
            int share = at == callees.size() - 1 ? left : 15 + random.nextInt(Math.max(1, left - 15 * (callees.size() - at)));
            left -= share;
            String callee = callees.get(at);
            methods.append("            %sif (drawn >= %d) {%n".formatted(at == 0 ? "" : "else ", left));
            methods.append("                long start = System.nanoTime();%n".formatted());
            methods.append("                %s%n".formatted(call(callee)));
            methods.append("                count(%d, System.nanoTime() - start);%n            }%n".formatted(edges++));
            methods.append("            // edge %s %s%n".formatted(callee, name));
        }
        methods.append("        }%n    }%n%n".formatted());
    }

    private String call(String callee) {
        return switch (random.nextInt(4)) {
            case 0 -> "%s(more);".formatted(callee);
            case 1 -> "REFERENCE_%s.accept(more);".formatted(callee.toUpperCase(Locale.ROOT));
            case 2 -> "try { METHOD_%s.invoke(null, more); } catch (ReflectiveOperationException e) { throw new IllegalStateException(e); }".formatted(callee.toUpperCase(Locale.ROOT));
            default -> "%s(more);".formatted(callee);
        };
    }

    /** Callee and caller of each counter. */
    List<String[]> edges() {
        return methods.toString().lines().map(String::strip).filter(line -> line.startsWith("// edge ")).map(line -> line.substring(8).split(" ")).toList();
    }

    /** The text of a method that an edge names. */
    static String named(String method) {
        return method.equals(TASK) ? CLASS + "$Task.run()" : CLASS + "." + method + "(int)";
    }

    String source() {
        StringBuilder constants = new StringBuilder();
        List<String> called = new ArrayList<>(List.of("hot"));
        called.addAll(lower);
        called.addAll(upper);
        called.addAll(TOP);
        for (String method : called) {
            String name = method.toUpperCase(Locale.ROOT);
            constants.append("    private static final IntConsumer REFERENCE_%s = Walked::%s;%n".formatted(name, method));
            constants.append("    private static final Method METHOD_%s = method(\"%s\");%n".formatted(name, method));
        }
        String recursion = recurses ? "        if (work > 0 && ThreadLocalRandom.current().nextInt(3) == 0) hot(0);\n" : "";
        return """
                package targets.graph;

                import java.lang.reflect.Method;
                import java.util.Scanner;
                import java.util.concurrent.CompletableFuture;
                import java.util.concurrent.ExecutorService;
                import java.util.concurrent.Executors;
                import java.util.concurrent.ThreadLocalRandom;
                import java.util.concurrent.atomic.AtomicLongArray;
                import java.util.function.IntConsumer;

                public class Walked {
                %s
                    private static final AtomicLongArray COUNTS = new AtomicLongArray(%d);
                    private static final ExecutorService POOL = Executors.newFixedThreadPool(2);
                    private static volatile long result;

                    public static void main(String[] arguments) {
                        for (int i = 0; i < %d; i++) {
                            Thread worker = new Thread(Worker::work, "worker " + i);
                            worker.setDaemon(true);
                            worker.start();
                        }
                        System.out.println("ready");
                        Scanner lines = new Scanner(System.in);
                        for (String line = lines.nextLine(); !line.equals("quit"); line = lines.nextLine()) System.out.println(COUNTS);
                        System.exit(0);
                    }

                    /** A class of its own: one whose frame stays is not changed. */
                    static final class Worker {
                        static void work() {
                            while (true) step(ThreadLocalRandom.current().nextInt(2_000, 6_000));
                        }
                    }

                    static void step(int work) {
                        %s
                    }

                    static final class Task implements Runnable {
                        private final int work;
                        private final int ofHandle;
                        private final int ofTask;

                        Task(int work, int ofHandle, int ofTask) {
                            this.work = work;
                            this.ofHandle = ofHandle;
                            this.ofTask = ofTask;
                        }

                        @Override
                        public void run() {
                            long start = System.nanoTime();
                            handle(work);
                            long nanos = System.nanoTime() - start;
                            count(ofHandle, nanos);
                            count(ofTask, nanos);
                        }
                    }

                    private static void count(int edge, long nanos) {
                        COUNTS.incrementAndGet(2 * edge);
                        COUNTS.addAndGet(2 * edge + 1, nanos);
                    }

                    private static Method method(String name) {
                        try {
                            return Walked.class.getDeclaredMethod(name, int.class);
                        } catch (ReflectiveOperationException e) {
                            throw new IllegalStateException(e);
                        }
                    }

                    static void hot(int work) {
                        long sum = work;
                        for (int i = 0; i < work; i++) sum = sum * 31 + (i ^ sum >>> 7);
                        result = sum;
                %s    }

                %s}
                """.formatted(constants, 2 * edges, threads, work(), recursion, methods);
    }

    /** The program, compiled for the oldest JVM under test. */
    Program compiled(Jdk jdk, Path directory) throws IOException {
        Path source = directory.resolve("targets/graph/Walked.java");
        Files.createDirectories(source.getParent());
        Files.writeString(source, source());
        int status = ToolProvider.getSystemJavaCompiler().run(null, null, null, "--release", "11", "-d", directory.toString(), source.toString());
        assertEquals(0, status, () -> this + " does not compile: " + source);
        return Program.of(jdk, List.of("-cp", directory + ":" + BuildResult.TARGETS.path()), List.of(CLASS));
    }

    @Override
    public String toString() {
        return "graph %d (%d threads%s%s)".formatted(seed, threads, recurses ? ", recursion" : "", isHandedOver() ? ", " + handingOver : "");
    }
}
