package targets;

import java.lang.invoke.MethodHandles;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.Collectors;

/** Prints what code can see of its own call stack: depth, frames, lines, callers. */
public final class StackView {

    private static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    private StackView() {}

    public static void main(String[] arguments) throws Exception {
        Deque<String> seen = new ArrayDeque<>();
        outer(3, seen);
        seen.forEach(System.out::println);
        System.out.println("lookup " + lookup());
        System.out.println("resource " + (StackView.class.getResource("StackView.class") != null));
        System.out.println("forName " + Class.forName("targets.StackView").getSimpleName());
        System.out.println("thrown " + thrownFrom());
        System.out.println("construct " + new Built(2).trace);
    }

    static void outer(int depth, Deque<String> seen) {
        if (depth > 0) {
            outer(depth - 1, seen);
            return;
        }
        Runnable inner = () -> middle(seen);
        inner.run();
    }

    static void middle(Deque<String> seen) {
        try {
            seen.add("walker " + walk());
            seen.add("caller " + caller());
            seen.add("trace " + describe(Thread.currentThread().getStackTrace()));
        } finally {
            seen.add("in finally " + describe(new Throwable().getStackTrace()));
        }
    }

    static List<String> walk() {
        return WALKER.walk(frames -> frames
                .filter(frame -> frame.getClassName().startsWith("targets."))
                .map(frame -> frame.getMethodName() + frame.getDescriptor() + ":" + frame.getLineNumber())
                .collect(Collectors.toList()));
    }

    static String caller() {
        return Callee.whoCalls();
    }

    static String lookup() {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        return lookup.lookupClass() + " " + lookup.lookupModes();
    }

    static String thrownFrom() {
        try {
            throwing(2);
            return "nothing";
        } catch (IllegalStateException thrown) {
            return describe(thrown.getStackTrace()) + " cause " + describe(thrown.getCause().getStackTrace());
        }
    }

    static void throwing(int depth) {
        if (depth > 0) {
            throwing(depth - 1);
        }
        try {
            Integer.parseInt("not a number");
        } catch (NumberFormatException cause) {
            throw new IllegalStateException("wrapped", cause);
        }
    }

    /** Own frames only: how the JDK itself gets from one to the other is its business. */
    private static String describe(StackTraceElement[] frames) {
        StringBuilder text = new StringBuilder();
        for (StackTraceElement frame : frames) {
            if (frame.getClassName().startsWith("targets.")) {
                text.append(frame.getMethodName()).append(':').append(frame.getLineNumber()).append(' ');
            }
        }
        return text.append("of ").append(frames.length).toString();
    }

    /** Asks for its caller as caller-sensitive methods do. */
    static final class Callee {

        private Callee() {}

        static String whoCalls() {
            return WALKER.getCallerClass().getName();
        }
    }

    /** A constructor's view, on both sides of this(). */
    static final class Built {

        private final String trace;

        Built(int n) {
            this(describe(new Throwable().getStackTrace()) + n);
        }

        Built(String before) {
            this.trace = before + " / " + describe(new Throwable().getStackTrace());
        }
    }
}
