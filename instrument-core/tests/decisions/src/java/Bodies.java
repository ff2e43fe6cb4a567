package bodies;

import java.io.Serializable;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.Supplier;

abstract class Shapes<T> {
    abstract Object make(T from);
}

class Covariant extends Shapes<String> implements Comparable<Covariant> {
    @Override
    String make(String from) {
        return from.trim();
    }

    public int compareTo(Covariant other) {
        return Integer.compare(hashCode(), other.hashCode());
    }
}

class Flags {
    public synchronized void locked() {
        System.out.println();
    }

    protected final void sealed() {
        System.out.println();
    }

    private static void hidden() {
        System.out.println();
    }

    void many(String... names) {
        hidden();
    }

    native void foreign();

    static int started = Integer.getInteger("x", 1);
}

class Sizes {
    private int value;

    int getValue() {
        return value;
    }

    void setValue(int value) {
        this.value = value;
    }

    int arithmetic(int a, int b) {
        int c = a * b + a - b * 7 + a * a * a - b * b * b + (a << 3) - (b >> 2) + (a & b) - (a | b) + (a ^ b);
        int d = c * b + a - c * 7 + a * c * a - b * c * b + (c << 3) - (c >> 2) + (c & b) - (c | b) + (c ^ b);
        return c - d;
    }

    int looping(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i * i - (i << 2) + (i >> 1) - (i ^ n) + (i & n) - (i | n) + i * 3 - n * 5 + i * 7 - n * 9 + i * 11;
        }
        return sum;
    }

    void waiting() throws InterruptedException {
        Thread.sleep(1);
    }
}

class Calls {
    void query(java.sql.Statement statement) throws java.sql.SQLException {
        statement.executeQuery("x");
    }

    void prepared(java.sql.PreparedStatement statement) throws java.sql.SQLException {
        statement.executeQuery();
    }

    void connects() throws java.io.IOException {
        new java.net.Socket().close();
    }

    Supplier<String> refers(Object any) {
        return any::toString;
    }

    Runnable inLambda(java.util.concurrent.locks.Lock lock) {
        return () -> lock.lock();
    }

    String concatenates(int a, Object b) {
        return "a" + a + b;
    }

    void own() throws java.io.IOException {
        connects();
    }

    void inherited() {
        super.toString();
    }
}

class Lambdas {
    private int field;

    Runnable plain() {
        return () -> System.out.println();
    }

    Callable<Integer> capturing(int x) {
        return () -> field + x;
    }

    Runnable reference() {
        return this::work;
    }

    Function<String, Lambdas> constructor() {
        return Lambdas::new;
    }

    Runnable serializable() {
        return (Runnable & Serializable) () -> System.out.println();
    }

    Runnable anonymous() {
        return new Runnable() {
            public void run() {
                work();
            }
        };
    }

    Supplier<Runnable> nested() {
        return () -> () -> work();
    }

    void work() {
        System.out.println();
    }

    Lambdas() {}

    Lambdas(String text) {
        System.out.println(text);
    }
}

class Switches {
    int of(Thread.State state) {
        return switch (state) {
            case NEW -> 1;
            default -> 2;
        };
    }
}
