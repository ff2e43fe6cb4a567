package targets.library;

import static targets.library.LibraryTour.show;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.invoke.CallSite;
import java.lang.invoke.LambdaMetafactory;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.Proxy;
import java.nio.file.spi.FileSystemProvider;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.ServiceLoader;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Reflection, method handles, lambdas, annotations, proxies, modules, services. */
final class ReflectionTopics {

    private ReflectionTopics() {}

    @Retention(RetentionPolicy.RUNTIME)
    private @interface Marked {
        String value() default "default";

        int[] numbers() default {1, 2};

        Class<?> type() default Object.class;
    }

    static void visitAll() {
        show("reflection", ReflectionTopics::reflection);
        show("many calls by reflection", ReflectionTopics::manyCalls);
        show("exception by reflection", ReflectionTopics::thrownByReflection);
        show("inaccessible", () -> {
            Field field = String.class.getDeclaredField("value");
            return String.class.getDeclaredField("hash").getName() + Modifier.toString(field.getModifiers()) + field.getType();
        });
        show("annotations", ReflectionTopics::annotations);
        show("generics", () -> Arrays.toString(Generic.class.getMethods()[0].getGenericParameterTypes())
                + Generic.class.getGenericSuperclass());
        show("proxies", ReflectionTopics::proxies);
        show("method handles", ReflectionTopics::methodHandles);
        show("wrong method type", ReflectionTopics::wrongMethodType);
        show("var handles", ReflectionTopics::varHandles);
        show("lambdas", ReflectionTopics::lambdas);
        show("lambda factory", ReflectionTopics::lambdaFactory);
        show("references", ReflectionTopics::references);
        show("arrays", ReflectionTopics::arrays);
        show("services", () -> ServiceLoader.loadInstalled(FileSystemProvider.class).stream().map(provider -> provider.type()
                .getName()).sorted().collect(Collectors.toList()));
        show("modules", ReflectionTopics::modules);
        show("no such class", () -> Class.forName("no.such.Class"));
        show("no such method", () -> String.class.getMethod("noSuchMethod", int.class));
        show("bad cast", () -> Integer.class.cast("text"));
    }

    private static Object reflection() throws Exception {
        Constructor<Bean> constructor = Bean.class.getDeclaredConstructor(int.class, String.class);
        Bean bean = constructor.newInstance(3, "bean");
        Field number = Bean.class.getDeclaredField("number");
        number.setAccessible(true);
        number.setInt(bean, number.getInt(bean) + 1);
        Method method = Bean.class.getDeclaredMethod("join", Object[].class);
        String joined = (String) method.invoke(bean, (Object) new Object[] {"x", 2});
        return joined + " " + method.toGenericString() + Stream.of(Bean.class.getDeclaredMethods()).map(Method::getName).sorted()
                .collect(Collectors.toList());
    }

    /** More than the threshold from which reflection makes classes of its own. */
    private static Object manyCalls() throws Exception {
        Method method = Bean.class.getDeclaredMethod("add", int.class, long.class);
        Constructor<Bean> constructor = Bean.class.getDeclaredConstructor(int.class, String.class);
        Field field = Bean.class.getDeclaredField("name");
        long sum = 0;
        for (int i = 0; i < 200; i++) {
            Bean bean = constructor.newInstance(i, "n");
            sum += (Long) method.invoke(bean, i, 5L) + ((String) field.get(bean)).length();
        }
        return sum;
    }

    private static Object thrownByReflection() throws Exception {
        try {
            return Bean.class.getDeclaredMethod("fail").invoke(null);
        } catch (InvocationTargetException expected) {
            return expected.getCause() + expected.getStackTrace()[0].getMethodName().substring(0, 6);
        }
    }

    private static Object annotations() throws Exception {
        Marked marked = Bean.class.getAnnotation(Marked.class);
        Method method = Bean.class.getDeclaredMethod("fail");
        return marked.value() + Arrays.toString(marked.numbers()) + marked.type()
                + marked.equals(Bean.class.getAnnotation(Marked.class))
                + method.isAnnotationPresent(Deprecated.class) + method.getAnnotation(Deprecated.class).annotationType();
    }

    private static Object proxies() throws Exception {
        @SuppressWarnings("unchecked")
        Callable<String> proxy = (Callable<String>) Proxy.newProxyInstance(
                ReflectionTopics.class.getClassLoader(), new Class<?>[] {Callable.class, Comparable.class},
                (self, method, arguments) -> method.getName() + (arguments == null ? 0 : arguments.length));
        return proxy.call() + proxy + Proxy.isProxyClass(proxy.getClass());
    }

    private static Object methodHandles() throws HandleFailed {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            MethodHandle length = lookup.findVirtual(String.class, "length", MethodType.methodType(int.class));
            MethodHandle concat = lookup.findVirtual(String.class, "concat", MethodType.methodType(String.class, String.class));
            MethodHandle both = MethodHandles.filterReturnValue(concat, length);
            MethodHandle guarded = MethodHandles.guardWithTest(
                    lookup.findVirtual(String.class, "isEmpty", MethodType.methodType(boolean.class)),
                    MethodHandles.dropArguments(MethodHandles.constant(int.class, -1), 0, String.class), length);
            MethodHandle caught = MethodHandles.catchException(
                    lookup.findStatic(Integer.class, "parseInt", MethodType.methodType(int.class, String.class)),
                    NumberFormatException.class, MethodHandles.dropArguments(MethodHandles.constant(int.class, -7), 0,
                            NumberFormatException.class));
            MethodHandle spread = lookup.findStatic(Math.class, "max", MethodType.methodType(int.class, int.class, int.class))
                    .asSpreader(Object[].class, 2);
            MethodHandle bound = MethodHandles.insertArguments(concat, 1, "!").bindTo("bound");
            return (int) both.invokeExact("ab", "cde") + " " + (int) guarded.invokeExact("") + (int) caught.invokeExact("no")
                    + spread.invoke(new Object[] {3, 9}) + bound.invoke() + both.type()
                    + MethodHandles.collectArguments(concat, 1, concat).invoke("1", "2", "3");
        } catch (Throwable thrown) {
            throw new HandleFailed(thrown);
        }
    }

    private static Object wrongMethodType() throws HandleFailed {
        try {
            MethodHandle handle = MethodHandles.lookup().findStatic(Math.class, "abs", MethodType.methodType(int.class, int.class));
            return handle.invoke("text");
        } catch (ClassCastException expected) {
            return "thrown " + expected.getClass();
        } catch (Throwable thrown) {
            throw new HandleFailed(thrown);
        }
    }

    private static Object varHandles() throws Exception {
        VarHandle number = MethodHandles.privateLookupIn(Bean.class, MethodHandles.lookup())
                .findVarHandle(Bean.class, "number", int.class);
        VarHandle elements = MethodHandles.arrayElementVarHandle(long[].class);
        VarHandle view = MethodHandles.byteArrayViewVarHandle(int[].class, java.nio.ByteOrder.BIG_ENDIAN);
        Bean bean = new Bean(1, "x");
        long[] array = new long[2];
        elements.setVolatile(array, 1, 9L);
        return (int) number.getAndAdd(bean, 4) + " " + number.compareAndSet(bean, 5, 6) + (int) number.getOpaque(bean)
                + (long) elements.getAcquire(array, 1)
                + (int) view.get(new byte[] {0, 0, 1, 0}, 0);
    }

    private static Object lambdas() {
        int captured = 5;
        Supplier<Function<Integer, Integer>> nested = () -> n -> n + captured;
        BiFunction<Integer, String, Bean> constructor = Bean::new;
        IntBinaryOperator operator = Math::max;
        Function<Object, String> bound = ((Function<String, String>) "prefix "::concat).compose(Object::toString);
        return nested.get().apply(3) + constructor.apply(1, "made").name + operator.applyAsInt(3, 4) + bound.apply(7);
    }

    private static Object lambdaFactory() throws HandleFailed {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            MethodType type = MethodType.methodType(String.class, Object.class);
            CallSite site = LambdaMetafactory.metafactory(lookup, "apply", MethodType.methodType(Function.class),
                    type.changeReturnType(Object.class), lookup.findStatic(String.class, "valueOf", type), type);
            Function<?, ?> made = (Function<?, ?>) site.getTarget().invokeExact();
            @SuppressWarnings("unchecked")
            Function<Object, Object> typed = (Function<Object, Object>) made;
            return typed.apply(List.of(1));
        } catch (Throwable thrown) {
            throw new HandleFailed(thrown);
        }
    }

    private static Object references() throws Exception {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        WeakReference<Object> weak = new WeakReference<>(new Object(), queue);
        PhantomReference<Object> phantom = new PhantomReference<>(new Object(), queue);
        SoftReference<String> soft = new SoftReference<>("soft");
        java.util.concurrent.CountDownLatch cleaned = new java.util.concurrent.CountDownLatch(1);
        Cleaner.create().register(new Object(), cleaned::countDown);
        while (!(weak.get() == null && cleaned.getCount() == 0)) {
            System.gc();
        }
        return (queue.remove() != null) + " " + (queue.remove() != null) + soft.get() + (phantom.get() == null);
    }

    private static Object arrays() {
        Object array = Array.newInstance(int.class, 2, 3);
        Array.setInt(Array.get(array, 1), 2, 8);
        Map<String, Object> seen = new TreeMap<>();
        seen.put("deep", Arrays.deepToString((int[][]) array));
        seen.put("clone", ((int[][]) array).clone().length);
        try {
            System.arraycopy(new int[1], 0, new int[1], 0, 2);
        } catch (ArrayIndexOutOfBoundsException expected) {
            seen.put("copy", expected.getMessage());
        }
        try {
            Object[] strings = new String[1];
            strings[0] = 1;
        } catch (ArrayStoreException expected) {
            seen.put("store", expected.getMessage());
        }
        return seen;
    }

    private static Object modules() {
        Module base = Object.class.getModule();
        return base.getName() + base.isExported("java.lang") + base.isOpen("java.lang", ReflectionTopics.class.getModule())
                + ModuleLayer.boot().findModule("java.logging").isPresent() + base.getDescriptor().exports().size()
                + base.getPackages().contains("java.instr");
    }

    /** What a method handle threw, which may be any Throwable. */
    private static final class HandleFailed extends Exception {

        private static final long serialVersionUID = 1;

        HandleFailed(Throwable cause) {
            super(cause);
        }
    }

    private abstract static class Generic<T extends Comparable<? super T>> implements Comparable<Map<String, ? extends T[]>> {}

    @Marked(numbers = {3}, type = String.class)
    private static final class Bean {

        private int number;
        private final String name;

        Bean(int number, String name) {
            this.number = number;
            this.name = name;
        }

        String join(Object... parts) {
            return name + number + Arrays.toString(parts);
        }

        long add(int first, long second) {
            return number + first + second;
        }

        @Deprecated
        static void fail() {
            throw new IllegalStateException("failed");
        }
    }
}
