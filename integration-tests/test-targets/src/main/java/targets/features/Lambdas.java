package targets.features;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import targets.Calls;

/** Lambda bodies, captures, and the four kinds of method references. */
final class Lambdas {

    private static final String PREFIX = "targets.features.Lambdas.";

    private final int field = 42;

    private Lambdas() {}

    static String run() throws Exception {
        List<String> out = new ArrayList<>();
        int captured = 5;
        long wide = 1L << 40;
        Function<Integer, Long> capturing = n -> n * captured + wide;
        out.add(capturing.apply(3).toString());
        out.add(new Lambdas().capturesThis().get());
        Function<String, Integer> parse = Integer::parseInt;
        Function<String, String> upper = String::toUpperCase;
        IntFunction<int[]> array = int[]::new;
        BiFunction<Integer, Integer, Integer> add = Lambdas::add;
        out.add(parse.apply("12") + upper.apply("up") + array.apply(3).length + add.apply(2, 3));
        Function<Integer, Integer> composed = compose(n -> n + 1, n -> n * 2);
        out.add(composed.apply(4).toString());
        out.add(throwing(() -> {
            throw new IllegalStateException("from lambda");
        }));
        Runnable serializable = (Runnable & Serializable) () -> out.add("ran");
        serializable.run();
        out.add(Arrays.asList(4, 2, 9).stream()
                .filter(n -> n > 3)
                .map(n -> add(n, 1))
                .map(String::valueOf)
                .collect(Collectors.joining("+")));
        return String.join(" ", out);
    }

    private Supplier<String> capturesThis() {
        Calls.one(PREFIX + "capturesThis");
        return () -> "field" + field;
    }

    static int add(int a, int b) {
        Calls.one(PREFIX + "add");
        return a + b;
    }

    static <A, B, C> Function<A, C> compose(Function<A, B> first, Function<B, C> second) {
        Calls.one(PREFIX + "compose");
        return a -> second.apply(first.apply(a));
    }

    static String throwing(Callable<String> call) {
        Calls.one(PREFIX + "throwing");
        try {
            return call.call();
        } catch (Exception thrown) {
            return thrown.getMessage();
        }
    }
}
