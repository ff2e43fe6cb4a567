package io.instr.jvmtests.diagnosis;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * A program whose methods call each other as a seed says: three to five levels below its root, with recursion, exceptions on the way, implementers of
 * interfaces, private methods and constructors. One path of calls is slow when the call of the root is. Most methods on it are also called by others, and are fast
 * then.
 */
final class RandomGraph {

    static final String CLASS = "targets.graph.Graph";
    private static final String[] KINDS = {"static", "private", "virtual", "constructor", "interface"};
    private static final int PARTS = 3;
    private static final int SLOW_COUNTERS = 32;
    private static final long FAST_NANOS = 1_000_000;
    private static final long SLOW_NANOS = 25_000_000;

    final long seed;
    /** How the last method of the path is slow: {@code park}, {@code sleep}, {@code spin} or {@code executor}. */
    final String way;
    /** The numbers of the methods on the slow path, from the one that the root calls. */
    final List<Integer> path = new ArrayList<>();
    /** Whether a method on the path reaches the rest of it only by calling itself. */
    final boolean recursesOnThePath;

    private final Random random;
    private final List<Node> nodes = new ArrayList<>();
    private final List<List<Node>> levels = new ArrayList<>();
    /** Methods from this place of the path on pass on what the slow method throws; it throws nothing if there is no such place. */
    private final int catching;

    private static final class Node {

        private final int number;
        private final String kind;
        private final List<Node> callees = new ArrayList<>();
        private boolean recurses;
        private boolean passesExceptionsOn;
        private boolean isThrowing;
        private boolean callsTheRoot;

        private Node(int number, String kind) {
            this.number = number;
            this.kind = kind;
        }
    }

    RandomGraph(long seed) {
        this.seed = seed;
        this.random = new Random(seed);
        this.way = List.of("park", "sleep", "spin", "executor").get((int) (seed % 4));
        drawNodes();
        drawCalls();
        drawPath();
        this.recursesOnThePath = random.nextInt(5) == 0;
        this.catching = random.nextInt(3) == 0 ? random.nextInt(path.size()) : path.size();
        drawOddities();
    }

    private void drawNodes() {
        List<String> kinds = new ArrayList<>();
        int depth = 3 + random.nextInt(3);
        List<Integer> sizes = IntStream.range(0, depth).mapToObj(level -> 3 + random.nextInt(2)).toList();
        int all = sizes.stream().mapToInt(Integer::intValue).sum();
        for (int i = 0; i < all; i++) {
            kinds.add(KINDS[i % KINDS.length]);
        }
        Collections.shuffle(kinds, random);
        for (int size : sizes) {
            List<Node> level = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                level.add(new Node(nodes.size() + 1, kinds.get(nodes.size())));
                nodes.add(level.get(i));
            }
            levels.add(level);
        }
    }

    private void drawCalls() {
        for (int level = 0; level + 1 < levels.size(); level++) {
            for (Node node : levels.get(level)) {
                node.callees.addAll(some(levels.get(level + 1)));
            }
        }
    }

    /** Two to four of a level, in any order. */
    private List<Node> some(List<Node> level) {
        List<Node> shuffled = new ArrayList<>(level);
        Collections.shuffle(shuffled, random);
        return shuffled.subList(0, Math.min(shuffled.size(), 2 + random.nextInt(3)));
    }

    private void drawPath() {
        Node at = levels.get(0).get(random.nextInt(levels.get(0).size()));
        path.add(at.number);
        while (!at.callees.isEmpty()) {
            at = at.callees.get(random.nextInt(at.callees.size()));
            path.add(at.number);
        }
    }

    private void drawOddities() {
        for (Node node : nodes) {
            boolean isOnPath = path.contains(node.number);
            node.recurses = random.nextInt(4) == 0;
            node.isThrowing = node.callees.isEmpty() && !isOnPath && random.nextBoolean();
            node.passesExceptionsOn = !isOnPath && random.nextInt(3) == 0;
            node.callsTheRoot = node.callees.isEmpty() && !isOnPath && random.nextInt(3) == 0;
        }
        if (recursesOnThePath) {
            node(path.get(path.size() / 2)).recurses = true;
        }
    }

    private Node node(int number) {
        return nodes.get(number - 1);
    }

    /** The source of {@link #CLASS}. */
    String source() {
        StringBuilder text = new StringBuilder("package targets.graph;\n\nimport targets.diagnosis.CallLoop;\nimport targets.diagnosis.CallTruth;\n"
                + "import targets.diagnosis.Pauses;\nimport targets.diagnosis.RootCall;\n\npublic final class Graph {\n");
        for (int part = 0; part < PARTS; part++) {
            text.append("static final Part").append(part).append(" PART").append(part).append(" = new Part").append(part).append("();\n");
        }
        text.append("static final java.util.concurrent.ExecutorService POOL = java.util.concurrent.Executors.newFixedThreadPool(2, task -> {\n"
                + "Thread thread = new Thread(task);\nthread.setDaemon(true);\nreturn thread;\n});\n");
        text.append("static final class Odd extends RuntimeException {\nprivate static final long serialVersionUID = 1;\n}\n");
        text.append(mainMethod());
        text.append("static void root(RootCall call) {\nboolean hot = call.slow;\nPauses.park(").append(FAST_NANOS).append(");\n");
        levels.get(0).forEach(callee -> text.append(callOf(callee, -1, false)));
        text.append("}\n");
        for (int part = 0; part < PARTS; part++) {
            text.append("static final class Part").append(part).append(" {\n");
            for (Node node : nodes) {
                if (part == node.number % PARTS) {
                    text.append(methodOfPart(node));
                }
            }
            text.append("}\n");
        }
        nodes.forEach(node -> text.append(typesOf(node)));
        return text.append("}\n").toString();
    }

    private String mainMethod() {
        String names = path.stream().map(number -> "\"n" + number + "\"").collect(Collectors.joining(", "));
        // Everything is loaded and linked, and each implementer has been called, before the program is ready.
        return "public static void main(String[] arguments) throws Exception {\nCallTruth truth = new CallTruth(\"root\", " + names + ");\n"
                + "for (int i = 0; i < 12; i++) {\nroot(CallLoop.trial(0, truth, i, i % 4 == 3));\n}\n"
                + "CallLoop.run(new CallLoop.Root[] {Graph::root}, new CallTruth[] {truth}, line -> \"? \" + line);\n}\n";
    }

    private String methodOfPart(Node node) {
        String signature = "n" + node.number + "(RootCall call, boolean hot) {\n" + body(node) + "}\n";
        return switch (node.kind) {
            case "static" -> "static void " + signature;
            case "private" -> "private void " + signature;
            case "virtual" -> "void " + signature;
            default -> "";
        };
    }

    private String typesOf(Node node) {
        int number = node.number;
        String signature = "void n" + number + "(RootCall call, boolean hot)";
        return switch (node.kind) {
            case "constructor" -> "static final class N" + number + " {\nN" + number + "(RootCall call, boolean hot) {\n" + body(node) + "}\n}\n";
            case "interface" -> "interface I" + number + " {\nI" + number + "[] ALL = {new I" + number + "A(), new I" + number + "B(), new I" + number + "C()};\n"
                    + signature + ";\n}\n"
                    + implementer(number, "A", signature, body(node))
                    + implementer(number, "B", signature, "if (hot) {\nthrow new IllegalStateException(\"B\");\n}\n")
                    + implementer(number, "C", signature, "call.note();\n");
            default -> "";
        };
    }

    private static String implementer(int number, String name, String signature, String body) {
        return "static final class I" + number + name + " implements I" + number + " {\n@Override\npublic " + signature + " {\n" + body + "}\n}\n";
    }

    private String body(Node node) {
        StringBuilder text = new StringBuilder();
        int place = path.indexOf(node.number);
        if (levels.get(0).contains(node)) {
            text.append("Pauses.park(").append(FAST_NANOS / 10).append(");\n");
        }
        if (node.recurses) {
            boolean goesOnBelow = recursesOnThePath && node.number == path.get(path.size() / 2);
            // Slow calls have a count of their own: other calls on the way would use it up, now and then.
            String counter = goesOnBelow ? "hot ? " + (node.number + SLOW_COUNTERS) + " : " + node.number : String.valueOf(node.number);
            text.append("if (call.again(").append(counter).append(", 2)) {\n").append(invoke(node, goesOnBelow ? "hot" : "false"));
            text.append(goesOnBelow ? "hot = false;\n" : "").append("}\n");
        }
        if (node.callsTheRoot) {
            text.append("if (call.again(0, 1)) {\nroot(call.inner());\n}\n");
        }
        if (node.isThrowing) {
            text.append("if (call.number % 3 == 0) {\nthrow new Odd();\n}\n");
        }
        node.callees.forEach(callee -> text.append(callOf(callee, place, node.passesExceptionsOn)));
        if (place == path.size() - 1) {
            text.append("if (hot) {\n").append(slow()).append("}\n");
        }
        return text.toString();
    }

    /** A call by the method at this place of the path; -1 stands for the root, and for methods that are not on it. */
    private String callOf(Node callee, int placeOfCaller, boolean passesOn) {
        boolean isOnPath = placeOfCaller + 1 < path.size() && path.get(placeOfCaller + 1) == callee.number;
        if (!isOnPath) {
            return "try {\n" + invoke(callee, "false") + "} catch (Odd odd) {\n" + (passesOn ? "throw odd;\n" : "call.note();\n") + "}\n";
        }
        String took = "if (hot) {\ncall.took(" + (placeOfCaller + 1) + ", start" + callee.number + ");\n}\n";
        String onException = placeOfCaller >= catching ? "if (hot) {\nthrow odd;\n}\n" : "";
        return "long start" + callee.number + " = System.nanoTime();\ntry {\n" + invoke(callee, "hot") + took + "} catch (Odd odd) {\n" + took + onException + "}\n";
    }

    private String invoke(Node node, String hot) {
        int number = node.number;
        int part = number % PARTS;
        String arguments = "(call, " + hot + ");\n";
        return switch (node.kind) {
            case "static" -> "Part" + part + ".n" + number + arguments;
            case "constructor" -> "new N" + number + arguments;
            case "interface" -> "I" + number + ".ALL[" + hot + " ? 0 : (int) (call.number % 3)].n" + number + arguments;
            default -> "PART" + part + ".n" + number + arguments;
        };
    }

    private String slow() {
        String end = catching < path.size() ? "if (call.number / 4 % 2 == 1) {\nthrow new Odd();\n}\n" : "";
        return switch (way) {
            case "park" -> "java.util.concurrent.locks.LockSupport.parkNanos(" + SLOW_NANOS + "L);\n" + end;
            case "spin" -> "Pauses.spin(" + SLOW_NANOS + "L);\n" + end;
            case "sleep" -> interruptible("Thread.sleep(" + SLOW_NANOS / 1_000_000 + ");\n", "InterruptedException") + end;
            default -> interruptible("POOL.submit(() -> Pauses.park(" + SLOW_NANOS + "L)).get();\n", "InterruptedException | java.util.concurrent.ExecutionException") + end;
        };
    }

    private static String interruptible(String statement, String exceptions) {
        return "try {\n" + statement + "} catch (" + exceptions + " e) {\nthrow new IllegalStateException(e);\n}\n";
    }

    @Override
    public String toString() {
        return "seed " + seed + ": " + way + " at the end of root > " + path.stream().map(number -> "n" + number).collect(Collectors.joining(" > "))
                + (recursesOnThePath ? ", with recursion" : "") + (catching < path.size() ? ", exceptions passed on from place " + catching : "");
    }
}
