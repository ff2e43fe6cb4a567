package targets;

/** An interface with a body. */
public interface Shape {
    double area(double width, long height);

    default String label(String prefix) {
        return prefix + Shape.unit();
    }

    static String unit() {
        return "m2";
    }
}
