package targets;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.Function;
import probe.Log;

/** Everything about methods that must not depend on whether they were renamed and wrapped; one line each. */
public final class Wrapping {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
        String value() default "marked";
    }

    interface Greeter {
        String name();

        default String greet(String who) {
            return prefix(who.length()) + who + " from " + name();
        }

        private String prefix(int length) {
            return length > 3 ? "dear " : shorter();
        }

        private static String shorter() {
            return "hi ";
        }

        static String twice(String text) {
            return text + text;
        }
    }

    static class Base implements Greeter {
        @Override
        public String name() {
            return "base";
        }

        public String chain(int depth) {
            return "base" + depth;
        }

        protected static String hidden() {
            return "base hides";
        }

        /** If `chain` of a subclass were renamed to this, calls of it through the subclass would not be allowed any more. */
        public String _chain(int depth) {
            return "inherited" + depth;
        }
    }

    static class Middle extends Base {
        @Override
        public String chain(int depth) {
            return "middle(" + super.chain(depth + 1) + ")";
        }

        @Override
        public String greet(String who) {
            return "middle:" + super.greet(who);
        }

        protected static String hidden() {
            return "middle hides " + Base.hidden();
        }
    }

    static final class Leaf extends Middle {
        @Override
        public String name() {
            return "leaf of " + super.name();
        }

        @Override
        public String chain(int depth) {
            return "leaf(" + super.chain(depth + 1) + ")";
        }
    }

    /** A subclass that has methods of the names that its wrapped super class uses. */
    static final class Under extends Base {
        public String _chain$instr(int depth) {
            return "own";
        }

        public String _name$instr() {
            return chain(1) + _chain$instr(2) + name();
        }
    }

    static final class Taken {
        String run(int value) {
            return "run" + value;
        }

        String _run$instr(int value) {
            return "taken" + run(value);
        }

        String __run$instr(int value) {
            return "twice " + _run$instr(value);
        }
    }

    enum Operation {
        PLUS {
            @Override
            int apply(int a, int b) {
                return a + b;
            }
        },
        TIMES {
            @Override
            int apply(int a, int b) {
                return a * b;
            }
        };

        abstract int apply(int a, int b);
    }

    static class Stored implements Serializable {
        private transient int secret = 5;
        private String text = "t";

        private void writeObject(ObjectOutputStream out) throws IOException {
            out.defaultWriteObject();
            out.writeInt(secret);
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            secret = in.readInt() * 2;
        }

        protected Object readResolve() {
            text += "!";
            return this;
        }

        public long value(int more) {
            return secret + more;
        }

        @Override
        public String toString() {
            return text + secret;
        }
    }

    static final class Version implements Comparable<Version> {
        final int number;

        Version(int number) {
            this.number = number;
        }

        @Override
        public int compareTo(Version other) {
            return Integer.compare(number, other.number);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Version && ((Version) other).number == number;
        }

        @Override
        public int hashCode() {
            return number;
        }

        @Override
        public String toString() {
            return "v" + number;
        }
    }

    @Mark
    @Deprecated
    public <T extends Comparable<T>> T generic(@Mark("first") List<? extends T> values, @Mark("second") T least)
            throws IOException {
        T best = least;
        for (T value : values) {
            best = value.compareTo(best) > 0 ? value : best;
        }
        return best;
    }

    @SafeVarargs
    static <T> int variable(T... values) {
        return values.length;
    }

    synchronized boolean locked() {
        return Thread.holdsLock(this);
    }

    static synchronized boolean lockedClass(int depth) {
        return depth == 0 ? Thread.holdsLock(Wrapping.class) : lockedClass(depth - 1);
    }

    strictfp double strict(double a, float b) {
        return a / b;
    }

    static long twenty(
            long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
            long k, long l, long m, long n, long o, long p, long q, long r, long s, long t) {
        return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j
                + 11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t;
    }

    String mixed(boolean a, byte b, char c, short d, int e, long f, float g, double h, String i, int[][] j) {
        return "" + a + b + c + d + e + f + g + h + i + j.length + getClass().getSimpleName();
    }

    private static Class<?> lookup() throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle handle = lookup.findStatic(Wrapping.class, "own", MethodType.methodType(int.class, int.class));
        Class<?> found = Class.forName("targets.Wrapping$Leaf");
        return handle.type().parameterCount() == 1 ? lookup.lookupClass() : found;
    }

    private static int own(int value) {
        return value + 1;
    }

    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    static Class<?> caller() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass();
    }

    static String stackTop() {
        return new Throwable().getStackTrace()[1].getMethodName();
    }

    static String callsStackTop() {
        return stackTop();
    }

    static Object thrower(String text) throws IOException {
        try {
            if (text.isEmpty()) {
                throw new IOException("empty");
            }
            return text.charAt(3);
        } finally {
            Behaviour.TRAIL.add("finally " + text);
        }
    }

    static Object lambdas() {
        Function<Integer, Integer> twice = value -> value * 2;
        Function<Integer, Integer> reference = Wrapping::own;
        Callable<String> inner = new Callable<String>() {
            @Override
            public String call() {
                return "inner" + own(1);
            }
        };
        try {
            return twice.andThen(reference).apply(4) + inner.call();
        } catch (Exception e) {
            return e;
        }
    }

    static Object proxied() {
        Greeter real = new Base();
        Class<?>[] types = {Greeter.class};
        Greeter proxy = (Greeter) Proxy.newProxyInstance(
                Wrapping.class.getClassLoader(), types, (self, method, arguments) -> method.invoke(real, arguments));
        return proxy.greet("proxy");
    }

    static Object stored() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Stored());
        }
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            return in.readObject() + " " + ObjectStreamClass.lookup(Stored.class).getSerialVersionUID();
        }
    }

    static Object declared(Class<?> type) {
        Map<String, String> methods = new TreeMap<>();
        for (Method method : type.getDeclaredMethods()) {
            if (!method.isSynthetic()) {
                String annotations = Arrays.toString(method.getAnnotations());
                String ofParameters = Arrays.deepToString(method.getParameterAnnotations());
                methods.put(method.toGenericString(), annotations + ofParameters + method.isVarArgs());
            }
        }
        return methods;
    }

    static Object synthetic(Class<?> type) {
        return Arrays.stream(type.getDeclaredMethods())
                .filter(Method::isSynthetic)
                .map(method -> method + Arrays.toString(method.getAnnotations()))
                .sorted()
                .collect(java.util.stream.Collectors.toList());
    }

    private static void show(String what, Callable<?> call) {
        String text;
        try {
            text = String.valueOf(call.call());
        } catch (Throwable thrown) {
            text = "threw " + thrown;
        }
        System.out.println("result " + what + " = " + text + " " + Behaviour.TRAIL);
        Behaviour.TRAIL.clear();
        System.out.println("events " + what + ": " + Log.drain());
    }

    private static void showCalls() {
        show("greet", () -> new Base().greet("x") + new Leaf().greet("longer") + Greeter.twice("t"));
        show("chain", () -> new Leaf().chain(0));
        show("inherited", () -> new Leaf()._chain(1) + new Middle()._chain(2));
        show("hidden", Middle::hidden);
        show("under", () -> new Under()._name$instr() + new Under().chain(4));
        show("taken", () -> new Taken().__run$instr(7));
        show("enum", () -> Operation.valueOf("PLUS").apply(2, 3) + Operation.values()[1].apply(2, 3));
        show("versions", () -> new TreeMap<>(Map.of(new Version(2), "b", new Version(1), "a")));
        show("generic", () -> new Wrapping().generic(Arrays.asList(1, 5, 3), 2));
        show("variable", () -> variable("a", "b") + variable());
        show("locked", () -> new Wrapping().locked());
        show("locked class", () -> lockedClass(3));
        show("strict", () -> new Wrapping().strict(1, 3));
        show("twenty", () -> twenty(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20));
        show("mixed", () -> new Wrapping().mixed(true, (byte) -1, 'c', (short) 4, 5, 6L, 7f, 8d, "nine", new int[10][]));
        show("fib", () -> fib(10));
        show("throws", () -> thrower(""));
        show("throws unchecked", () -> thrower("ab"));
        show("thrower", () -> thrower("abcd"));
        show("sorted", () -> {
            List<Version> versions = Arrays.asList(new Version(3), new Version(1));
            versions.sort(Comparator.naturalOrder());
            return versions;
        });
    }

    private static void showReflection() {
        show("lookup", Wrapping::lookup);
        show("caller", Wrapping::caller);
        show("proxied", Wrapping::proxied);
        show("lambdas", Wrapping::lambdas);
        show("stored", Wrapping::stored);
        for (Class<?> type : new Class<?>[] {Wrapping.class, Base.class, Leaf.class, Greeter.class, Stored.class}) {
            show("declared " + type.getSimpleName(), () -> declared(type));
        }
    }

    public static void main(String... arguments) {
        showCalls();
        showReflection();
        System.out.println("view stackTop " + callsStackTop());
        System.out.println("view synthetic " + synthetic(Taken.class) + synthetic(Greeter.class));
    }
}
