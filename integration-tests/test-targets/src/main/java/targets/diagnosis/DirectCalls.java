package targets.diagnosis;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Collections;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Calls {@link #x} from {@link #b} itself, in many ways, and by way of other methods, and counts itself which calls are which. Answers lines
 * on standard input.
 */
public final class DirectCalls {

    private static final int WAYS = 14;
    /** The ways in which {@link #b} is the immediate caller. */
    private static final int DIRECT_WAYS = 7;

    private static final AtomicLong directInA = new AtomicLong();
    private static final AtomicLong allInA = new AtomicLong();
    private static final AtomicLong directInB = new AtomicLong();

    private static final Method X;
    private static final MethodHandle HANDLE;
    private static final CountDownLatch released = new CountDownLatch(1);
    private static Thread held;

    static {
        try {
            X = DirectCalls.class.getDeclaredMethod("x", int.class);
            HANDLE = MethodHandles.lookup().findStatic(DirectCalls.class, "x", MethodType.methodType(int.class, int.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** A call of {@link #x}, without a value of another class between. */
    interface Call {
        int of(int number);
    }

    /** Its compiled form has a bridge. */
    interface Task<T> {
        T run(T value);
    }

    /** The bridge calls the method that has a probe. */
    static final class Named implements Task<String> {
        @Override
        public String run(String value) {
            return value + value.length();
        }
    }

    private DirectCalls() {}

    public static void main(String[] arguments) throws Throwable {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "run":
                    run(Integer.parseInt(words[1]));
                    System.out.println(counts());
                    break;
                case "virtual":
                    virtual(Integer.parseInt(words[1]));
                    System.out.println(counts());
                    break;
                case "hold":
                    hold();
                    System.out.println("holds");
                    break;
                case "release":
                    released.countDown();
                    held.join();
                    System.out.println(counts());
                    break;
                case "named":
                    System.out.println(named(new Named(), Integer.parseInt(words[1])));
                    break;
                case "quit":
                    return;
                default:
                    System.out.println("? " + line);
            }
        }
    }

    private static String counts() {
        return "direct " + directInA.get() + " " + directInB.get() + " of " + allInA.get();
    }

    private static void run(int times) throws Throwable {
        for (int i = 0; i < times; i++) {
            for (int way = 0; way < WAYS; way++) {
                count(way, true);
                a(way);
                count(way, false);
                b(way);
            }
            // Another one calls, inside both and outside.
            x(i);
            c(i);
        }
    }

    private static void count(int way, boolean isInA) {
        if (isInA) allInA.incrementAndGet();
        if (way >= DIRECT_WAYS) return;
        directInB.incrementAndGet();
        if (isInA) directInA.incrementAndGet();
    }

    private static void virtual(int threads) throws Throwable {
        CountDownLatch all = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            int way = i % WAYS;
            count(way, true);
            Runnable task = () -> {
                try {
                    a(way);
                } catch (Throwable e) {
                    throw new IllegalStateException(e);
                }
                all.countDown();
            };
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
        }
        all.await();
    }

    /** A call of {@link #b} that goes on until it is released; then it calls. */
    private static void hold() throws Throwable {
        count(0, true);
        held = new Thread(() -> {
            try {
                a(-1);
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        });
        held.start();
        while (held.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
    }

    private static void a(int way) throws Throwable {
        if (way == WAYS - 1) {
            around(way);
        } else {
            b(way);
        }
    }

    private static void around(int way) throws Throwable {
        b(way);
    }

    private static int b(int way) throws Throwable {
        if (way < 0) released.await();
        switch (way) {
            case -1:
            case 0:
                return x(way);
            case 1:
                return (int) X.invoke(null, way);
            case 2:
                return (int) HANDLE.invokeExact(way);
            case 3:
                Call reference = DirectCalls::x;
                return reference.of(way);
            case 4:
                Call lambda = number -> 1 + x(number);
                return lambda.of(way);
            case 5:
                return again(way);
            case 6:
                LockSupport.parkNanos(1_000);
                return 2 * x(way);
            case 7:
                return c(way);
            case 8:
                Collections.singletonList(way).forEach(DirectCalls::x);
                return way;
            case 9:
                Collections.singletonList(way).forEach(number -> x(number));
                return way;
            case 10:
                return proxy().of(way);
            case 11:
                return new Between().of(way);
            case 12:
                return byReflection(way);
            default:
                return x2(way);
        }
    }

    /** The recursion ends in the way that calls at once. */
    private static int again(int way) throws Throwable {
        return b(way - 5);
    }

    private static int c(int way) {
        return x(way) + 1;
    }

    private static int x2(int way) {
        try {
            throw new IllegalStateException();
        } catch (IllegalStateException thrown) {
            return x(way);
        }
    }

    private static int byReflection(int way) throws IllegalAccessException, InvocationTargetException {
        return (int) X.invoke(null, way);
    }

    private static Call proxy() {
        return (Call) Proxy.newProxyInstance(DirectCalls.class.getClassLoader(), new Class<?>[] {Call.class}, (self, method, arguments) -> x((int) arguments[0]));
    }

    private static final class Between implements Call {
        @Override
        public int of(int number) {
            return x(number);
        }
    }

    static int calls;

    static int x(int number) {
        calls += number;
        return calls;
    }

    private static int named(Task<String> task, int times) {
        int length = 0;
        for (int i = 0; i < times; i++) {
            length += task.run("a").length();
            length += byAnother(task);
        }
        return length;
    }

    private static int byAnother(Task<String> task) {
        return task.run("b").length();
    }
}
