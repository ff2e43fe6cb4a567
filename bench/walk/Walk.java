import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;

/**
 * What it costs to find the caller of a hot method in various ways, beside a plain call in the same JVM. Each hot method is a real call: walk.py
 * forbids the JIT to inline it. `below` is the caller that all ways have to find.
 */
public final class Walk {

    /** The numbers of JVMTI. */
    private static final int BREAKPOINT = 62, FRAME_POP = 61, METHOD_ENTRY = 65;

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final StackWalker WALKER = StackWalker.getInstance();
    private static final StackWalker RETAINING = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
    static volatile long result;
    static boolean isOn;
    static String caller;
    static Object frame;

    /** Name and depth -> a figure for each round. */
    private static final Map<String, double[]> FIGURES = new LinkedHashMap<>();
    private static int rounds;
    private static int round;

    private Walk() {}

    static native void empty();
    static native void find(int frames);
    static native void notifyPop();
    static native void choose(Object hot, Object caller);
    static native void trap(boolean set);
    static native void post(int event, boolean on);
    static native void retransform(Class<?> changed);
    static native long callers();
    static native long events();

    /** What the hot method does at its entry, or what is done to it. NO_CALL: there is none. */
    enum Way { PLAIN, OFF, NATIVE, FINDER_2, FINDER_6, FRAME, NAMES, RETAINING_NAMES, CALLER_CLASS, THROWABLE, STACK_TRACE, POSTED, CLEARED, POP, CHANGED, NO_CALL }

    public static void main(String[] arguments) throws Exception {
        rounds = Integer.parseInt(arguments[1]);
        choose(Walk.class.getDeclaredMethod("posted", long.class, int.class), Walk.class.getDeclaredMethod("below", int.class, Way.class, int.class));
        int[] depths = Arrays.stream(arguments[2].split(",")).mapToInt(Integer::parseInt).toArray();
        for (round = -2; round < rounds; round++) {
            for (int depth : depths) {
                measure(arguments[0], depth);
            }
        }
        FIGURES.forEach((name, values) -> {
            Arrays.sort(values);
            System.out.printf(Locale.ROOT, "%s %.3f%n", name, values[values.length / 2]);
        });
    }

    private static void measure(String what, int depth) throws Exception {
        figure("plain", depth, nanos(Way.PLAIN, depth, 2_000_000));
        switch (what) {
            case "finder" -> {
                figure("off", depth, nanos(Way.OFF, depth, 2_000_000));
                figure("native", depth, nanos(Way.NATIVE, depth, 1_000_000));
                for (Way way : EnumSet.range(Way.FINDER_2, Way.STACK_TRACE)) {
                    figure(way.name().toLowerCase(Locale.ROOT), depth, nanos(way, depth, way.compareTo(Way.THROWABLE) < 0 ? 50_000 : 5_000));
                }
            }
            case "breakpoint" -> {
                post(BREAKPOINT, true);
                figure("set", depth, millis(() -> trap(true)));
                figure("hit", depth, nanos(Way.POSTED, depth, 50_000));
                figure("clear", depth, millis(() -> trap(false)));
                post(BREAKPOINT, false);
                // The method is compiled again.
                nanos(Way.CLEARED, depth, 2_000_000);
                figure("cleared", depth, nanos(Way.CLEARED, depth, 2_000_000));
            }
            case "entry", "pop" -> {
                int event = what.equals("pop") ? FRAME_POP : METHOD_ENTRY;
                figure("no_call", depth, nanos(Way.NO_CALL, depth, 20_000_000));
                post(event, true);
                figure("no_call_posted", depth, nanos(Way.NO_CALL, depth, 1_000_000));
                figure("any_call", depth, nanos(Way.PLAIN, depth, 100_000));
                figure("hit", depth, what.equals("pop") ? nanos(Way.POP, depth, 2_000) : nanos(Way.POSTED, depth, 50_000));
                double[] other = new double[1];
                Thread thread = new Thread(() -> other[0] = nanos(Way.PLAIN, depth, 2_000_000));
                thread.start();
                thread.join();
                figure("other_thread", depth, other[0]);
                post(event, false);
            }
            default -> {
                nanos(Way.CHANGED, depth, 2_000_000);
                double before = figure("before", depth, nanos(Way.CHANGED, depth, 2_000_000));
                figure("retransform", depth, millis(() -> retransform(Changed.class)));
                // Until a slice of calls is as fast as before.
                figure("compiled_again", depth, millis(() -> {
                    while (nanos(Way.CHANGED, depth, 5_000) > 1.5 * before) {}
                }));
            }
        }
    }

    private static double figure(String name, int depth, double value) {
        if (round >= 0) {
            FIGURES.computeIfAbsent(name + " " + depth, key -> new double[rounds])[round] = value;
        }
        return value;
    }

    /** Processor time a call, since others use the machine. Fails if the caller was not found in each call that should find it. */
    private static double nanos(Way way, int depth, int calls) {
        caller = null;
        frame = null;
        long foundBefore = callers();
        long eventsBefore = events();
        long start = THREADS.getCurrentThreadCpuTime();
        result += below(depth, way, calls);
        long nanos = THREADS.getCurrentThreadCpuTime() - start;
        boolean isRight = switch (way) {
            case FINDER_2, FINDER_6, POSTED, POP -> callers() - foundBefore == calls;
            case CLEARED -> events() == eventsBefore;
            case FRAME -> ((StackWalker.StackFrame) frame).getMethodName().equals("below");
            case NAMES, RETAINING_NAMES, THROWABLE, STACK_TRACE -> caller.equals("Walk.below");
            case CALLER_CLASS -> frame == Walk.class;
            default -> true;
        };
        if (!isRight) {
            throw new IllegalStateException(way + " has not found the caller: " + caller + ", " + (callers() - foundBefore));
        }
        return (double) nanos / calls;
    }

    private static double millis(Runnable action) {
        long start = System.nanoTime();
        action.run();
        return (System.nanoTime() - start) / 1e6;
    }

    static long below(int depth, Way way, int calls) {
        if (depth > 1) {
            return 1 + below(depth - 1, way, calls);
        }
        long sum = 0;
        switch (way) {
            case PLAIN -> { for (int i = 0; i < calls; i++) { sum += plain(sum, i); } }
            case OFF -> { for (int i = 0; i < calls; i++) { sum += off(sum, i); } }
            case NATIVE -> { for (int i = 0; i < calls; i++) { sum += callsNative(sum, i); } }
            case FINDER_2 -> { for (int i = 0; i < calls; i++) { sum += finder(sum, i, 2); } }
            case FINDER_6 -> { for (int i = 0; i < calls; i++) { sum += finder(sum, i, 6); } }
            case POP -> { for (int i = 0; i < calls; i++) { sum += popped(sum, i); } }
            case POSTED, CLEARED -> { for (int i = 0; i < calls; i++) { sum += posted(sum, i); } }
            case CHANGED -> { for (int i = 0; i < calls; i++) { sum += Changed.changed(sum, i); } }
            case NO_CALL -> { for (int i = 0; i < calls; i++) { sum += sum * 31 + i; } }
            default -> { for (int i = 0; i < calls; i++) { sum += walked(sum, i, way); } }
        }
        return sum;
    }

    static long plain(long sum, int i) {
        return sum * 31 + i;
    }

    static long off(long sum, int i) {
        if (isOn) {
            find(2);
        }
        return sum * 31 + i;
    }

    static long callsNative(long sum, int i) {
        empty();
        return sum * 31 + i;
    }

    static long finder(long sum, int i, int frames) {
        find(frames);
        return sum * 31 + i;
    }

    static long popped(long sum, int i) {
        notifyPop();
        return sum * 31 + i;
    }

    /** The one whose entry is posted, by a breakpoint or as an event. */
    static long posted(long sum, int i) {
        return sum * 31 + i;
    }

    /** A class of its own, since HotSpot drops the compiled code of all methods of a class that is retransformed. */
    static final class Changed {
        static long changed(long sum, int i) {
            return sum * 31 + i;
        }
    }

    static long walked(long sum, int i, Way way) {
        if (way == Way.CALLER_CLASS) {
            // The class of the caller of the method that asks, and nothing else.
            frame = RETAINING.getCallerClass();
        } else {
            handler(way);
        }
        return sum * 31 + i;
    }

    /** What an injected call would run: frame 0 is this method, 1 the hot one, 2 its caller. */
    private static void handler(Way way) {
        switch (way) {
            case FRAME -> frame = WALKER.walk(frames -> frames.skip(2).findFirst().get());
            case NAMES -> caller = WALKER.walk(frames -> name(frames.skip(2).findFirst().get()));
            case RETAINING_NAMES -> caller = RETAINING.walk(frames -> {
                StackWalker.StackFrame found = frames.skip(2).findFirst().get();
                frame = found.getDeclaringClass();
                return name(found);
            });
            case THROWABLE -> caller = name(new Throwable().getStackTrace()[2]);
            // Frame 0 is getStackTrace itself.
            default -> caller = name(Thread.currentThread().getStackTrace()[3]);
        }
    }

    private static String name(StackWalker.StackFrame frame) {
        return frame.getClassName() + "." + frame.getMethodName();
    }

    private static String name(StackTraceElement frame) {
        return frame.getClassName() + "." + frame.getMethodName();
    }
}
