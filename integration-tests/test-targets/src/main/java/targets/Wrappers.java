package targets;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.stream.Collectors;

/** Answers questions about methods that may have been renamed and wrapped. The agent's rules name only the nested classes. */
public final class Wrappers {

    private static final StackWalker WALKER = StackWalker.getInstance();

    private Wrappers() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "work":
                    System.out.println("sum " + work(Integer.parseInt(words[1])));
                    break;
                case "frames":
                    System.out.println("frames " + new Derived().where());
                    break;
                case "methods":
                    System.out.println("methods " + methodsOf(Base.class));
                    break;
                case "late":
                    System.out.println("late " + Late.answer());
                    break;
                case "retransform":
                    System.out.println("retransform " + Retransformer.again(Base.class, Derived.class));
                    break;
                case "quit":
                    return;
                default:
                    System.out.println("? " + line);
            }
        }
    }

    private static long work(int steps) {
        Base base = new Derived();
        long sum = 0;
        for (int i = 0; i < steps; i++) {
            sum += base.step(i);
        }
        return sum;
    }

    private static String methodsOf(Class<?> type) {
        return Arrays.stream(type.getDeclaredMethods())
                .sorted((a, b) -> a.getName().compareTo(b.getName()))
                .map(Wrappers::described)
                .collect(Collectors.joining(" "));
    }

    private static String described(Method method) {
        return method.getName() + (method.isSynthetic() ? "(synthetic)" : "");
    }

    /** The methods on the way from here to {@code main}. */
    static String frames() {
        return WALKER.walk(frames -> frames.map(StackWalker.StackFrame::getMethodName).skip(1).collect(Collectors.joining(" ")));
    }

    /** Calls of its methods come over {@code super} from a class that is wrapped as well. */
    static class Base {
        long step(int i) {
            return (long) i * i % 7;
        }

        String where() {
            return frames();
        }
    }

    static final class Derived extends Base {
        @Override
        long step(int i) {
            return super.step(i) + 1;
        }

        @Override
        String where() {
            return super.where();
        }
    }

    /** Loaded when it is asked for. */
    static final class Late {
        private static final long BORN = System.nanoTime();

        private Late() {}

        static String answer() {
            return BORN == 0 ? "never" : frames();
        }

        static Class<?> asker() {
            return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass();
        }
    }
}
