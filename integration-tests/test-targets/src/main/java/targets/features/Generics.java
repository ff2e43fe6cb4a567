package targets.features;

import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import targets.Calls;

/** Bridges, covariant returns, variable arguments. */
final class Generics {

    private static final String PREFIX = "targets.features.Generics";

    private Generics() {}

    static String run() {
        Shape raw = new Square(3);
        Comparable<Square> comparable = new Square(4);
        Supplier<Square> supplier = new Square(5);
        return raw.copy().describe() + comparable.compareTo(new Square(2)) + " " + supplier.get().side + " "
                + join() + join("a") + join("a", "b", "c") + " " + total(1, 2L, 3.5) + " " + largest(Arrays.asList(3, 9, 4));
    }

    abstract static class Shape {

        abstract Shape copy();

        String describe() {
            return getClass().getSimpleName();
        }
    }

    static final class Square extends Shape implements Comparable<Square>, Supplier<Square> {

        private final int side;

        Square(int side) {
            this.side = side;
        }

        @Override
        Square copy() {
            return new Square(side);
        }

        @Override
        public int compareTo(Square other) {
            return Integer.compare(side, other.side);
        }

        @Override
        public Square get() {
            return this;
        }
    }

    static String join(String... parts) {
        Calls.one(PREFIX + ".join");
        return parts.length + String.join("", parts);
    }

    static double total(Number... numbers) {
        Calls.one(PREFIX + ".total");
        double sum = 0;
        for (Number number : numbers) {
            sum += number.doubleValue();
        }
        return sum;
    }

    static <T extends Comparable<T>> T largest(List<? extends T> items) {
        Calls.one(PREFIX + ".largest");
        T best = null;
        for (T item : items) {
            best = best == null || item.compareTo(best) > 0 ? item : best;
        }
        return best;
    }
}
