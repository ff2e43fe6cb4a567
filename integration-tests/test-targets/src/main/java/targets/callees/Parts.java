package targets.callees;

import java.util.function.IntSupplier;

/** A class that two loaders define. */
public final class Parts {

    private Parts() {}

    public static int count(int of) {
        IntSupplier half = () -> halve(of);
        return half.getAsInt();
    }

    private static int halve(int number) {
        return number / 2;
    }
}
