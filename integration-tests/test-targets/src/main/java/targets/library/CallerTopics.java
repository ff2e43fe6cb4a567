package targets.library;

import static targets.library.LibraryTour.show;

import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.ResourceBundle;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ExecutorService;
import java.util.stream.Collectors;

/** What asks who called it, and what the stack looks like through frames of the library: neither may see a probe. */
final class CallerTopics {

    private CallerTopics() {}

    static void visitAll() {
        show("forName", () -> Class.forName("targets.library.CallerTopics$Inner").getName());
        show("forName by reflection", () -> ((Class<?>) Class.class.getMethod("forName", String.class)
                .invoke(null, "targets.library.CallerTopics")).getName());
        show("forName by handle", CallerTopics::forNameByHandle);
        show("lookup", () -> MethodHandles.lookup() + " " + MethodHandles.lookup().lookupModes());
        show("lookup by reflection", () -> MethodHandles.class.getMethod("lookup").invoke(null));
        show("private access", CallerTopics::privateAccess);
        show("loaders", () -> ClassLoader.getSystemClassLoader() == CallerTopics.class.getClassLoader());
        show("resources", CallerTopics::resources);
        show("bundle", () -> ResourceBundle.getBundle("targets.library.NoSuchBundle"));
        show("callers", () -> Inner.callers());
        show("walk through the library", CallerTopics::throughTheLibrary);
        show("walk with reflection", () -> StackWalker.getInstance(StackWalker.Option.SHOW_REFLECT_FRAMES)
                .walk(frames -> frames.map(StackWalker.StackFrame::getMethodName).collect(Collectors.toList())));
        show("trace through the library", CallerTopics::traces);
        show("depth of a pool", CallerTopics::depthOfAPool);
        show("logger", () -> System.getLogger("tour").getName());
        show("privileged", CallerTopics::privileged);
        show("null message", CallerTopics::nullMessage);
    }

    private static Object forNameByHandle() throws Exception {
        try {
            return MethodHandles.lookup().findStatic(Class.class, "forName", MethodType.methodType(Class.class, String.class))
                    .invoke("targets.library.CallerTopics$Inner");
        } catch (Throwable thrown) {
            return thrown;
        }
    }

    private static Object privateAccess() throws Exception {
        Method method = Inner.class.getDeclaredMethod("secret");
        List<Object> seen = new ArrayList<>(List.of(method.invoke(null), method.canAccess(null)));
        try {
            ClassLoader.class.getDeclaredMethod("findLoadedClass", String.class).setAccessible(true);
            seen.add("open");
        } catch (RuntimeException | LinkageError refused) {
            seen.add(refused.getClass());
        }
        try {
            Object.class.getDeclaredMethod("clone").invoke(new Object());
        } catch (IllegalAccessException refused) {
            seen.add(refused.getMessage());
        }
        return seen;
    }

    private static Object resources() throws Exception {
        try (InputStream own = CallerTopics.class.getResourceAsStream("CallerTopics.class"); InputStream library = Object.class.getResourceAsStream("Object.class")) {
            return (own != null) + " " + (library != null) + ClassLoader.getSystemResource("targets/library/LibraryTour.class")
                    .getProtocol();
        }
    }

    /** Frames of the library lie between ours. */
    private static Object throughTheLibrary() {
        List<String> seen = new ArrayList<>();
        List.of(1, 2).stream().map(n -> n + 1).forEach(n -> seen.add(names(StackWalker.getInstance())));
        List<String> sorted = new ArrayList<>(List.of("b", "a"));
        sorted.sort((a, b) -> {
            seen.add(names(StackWalker.getInstance()));
            return a.compareTo(b);
        });
        return seen;
    }

    private static String names(StackWalker walker) {
        return walker.walk(frames -> frames.map(frame -> frame.getClassName() + "." + frame.getMethodName() + ":"
                + frame.getLineNumber())
                .filter(frame -> !frame.contains("Lambda")).collect(Collectors.joining(" ")));
    }

    private static Object traces() {
        List<String> seen = new ArrayList<>();
        for (Callable<Object> failing : List.<Callable<Object>>of(
                () -> Integer.parseInt("x"), () -> List.of(1).iterator().next().compareTo(null), () -> "abc".substring(5),
                () -> new ArrayList<>(List.of(1)).get(3), () -> java.time.LocalDate.of(2020, 13, 1),
                        () -> java.util.regex.Pattern.compile("*"))) {
            try {
                failing.call();
            } catch (Exception thrown) {
                seen.add("\n  " + thrown + " " + Arrays.stream(thrown.getStackTrace()).map(StackTraceElement::toString)
                        .filter(frame -> !frame.contains("Lambda")).collect(Collectors.toList()));
            }
        }
        return seen;
    }

    private static Object depthOfAPool() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        Future<String> depth = pool.submit(() -> Arrays.toString(new Throwable().getStackTrace()));
        pool.shutdown();
        return depth.get();
    }

    @SuppressWarnings("removal")
    private static Object privileged() {
        return java.security.AccessController.doPrivileged((java.security.PrivilegedAction<Object>) () -> names(StackWalker.getInstance()));
    }

    /** Since JDK 14 the JVM explains which value was null, from the bytecode. */
    private static Object nullMessage() {
        Object[] none = {null};
        try {
            return none[0].hashCode();
        } catch (NullPointerException expected) {
            return expected.getMessage();
        }
    }

    private static final class Inner {

        private Inner() {}

        static List<String> callers() {
            StackWalker walker = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
            return List.of(walker.getCallerClass().getName(), walker.walk(frames -> frames.count()) + " frames");
        }

        private static String secret() {
            return "secret";
        }
    }
}
