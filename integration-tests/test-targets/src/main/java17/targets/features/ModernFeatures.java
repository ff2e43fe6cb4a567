package targets.features;

import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import targets.Calls;

/** What the language got between 11 and 17: records, sealed classes, patterns, switch expressions, text blocks. */
public final class ModernFeatures {

    private static final String PREFIX = "targets.features.ModernFeatures";

    private ModernFeatures() {}

    public static void main(String[] arguments) {
        System.out.println(records());
        System.out.println(sealedShapes());
        System.out.println(Stream.of(1, 5, 9, 40).map(ModernFeatures::size).collect(Collectors.joining(",")));
        System.out.println(local(4));
        Calls.print();
    }

    private static String records() {
        Range range = new Range(2, 9);
        String refused;
        try {
            refused = new Range(5, 1).toString();
        } catch (IllegalArgumentException thrown) {
            refused = thrown.getMessage();
        }
        boolean equal = range.equals(new Range(2)) || range.equals(new Range(2, 9));
        return range + " " + range.length() + " " + equal + " " + (range.hashCode() == new Range(2, 9).hashCode()) + " " + refused
                + " " + new Pair<>("x", 1.5);
    }

    private static String sealedShapes() {
        List<Shape> shapes = List.of(new Circle(2), new Rectangle(3, 4), new Unit());
        return shapes.stream().map(shape -> "%.2f".formatted(area(shape))).collect(Collectors.toList()) + " " + Map.of("k", 1);
    }

    static double area(Shape shape) {
        Calls.one(PREFIX + ".area");
        if (shape instanceof Circle circle && circle.radius() > 0) {
            return Math.PI * circle.radius() * circle.radius();
        }
        return shape instanceof Rectangle rectangle ? rectangle.width() * rectangle.height() : 1;
    }

    static String size(int n) {
        Calls.one(PREFIX + ".size");
        return switch (n / 4) {
            case 0 -> "small";
            case 1, 2 -> {
                String text = """
                        mid""";
                yield text + n;
            }
            default -> n > 20 ? "large" : "unknown";
        };
    }

    private static String local(int n) {
        record Step(int from, int to) {
            Step next() {
                return new Step(to, from + to);
            }
        }
        Step step = new Step(1, 1);
        for (int i = 0; i < n; i++) {
            step = step.next();
        }
        return step.toString();
    }

    record Range(int low, int high) {

        Range {
            Calls.one(PREFIX + "$Range.<init>");
            if (low > high) {
                throw new IllegalArgumentException("%d > %d".formatted(low, high));
            }
        }

        Range(int low) {
            this(low, low);
            Calls.one(PREFIX + "$Range.<init>");
        }

        int length() {
            Calls.one(PREFIX + "$Range.length");
            return high - low;
        }
    }

    record Pair<A, B>(A first, B second) {}

    sealed interface Shape permits Circle, Rectangle, Unit {}

    record Circle(double radius) implements Shape {}

    record Rectangle(double width, double height) implements Shape {}

    static final class Unit implements Shape {}
}
