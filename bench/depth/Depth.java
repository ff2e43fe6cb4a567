import java.util.Arrays;

/** How deep a recursion gets before the stack overflows: {@code DEPTH n}, the median of the later half of the overflows. */
public final class Depth {

    private static int depth;

    private Depth() {}

    /** The method that is instrumented. */
    static void call() {
        depth++;
        call();
    }

    public static void main(String[] arguments) {
        int[] depths = new int[Integer.parseInt(arguments[0])];
        for (int i = 0; i < depths.length; i++) {
            depth = 0;
            try {
                call();
            } catch (StackOverflowError expected) {
                depths[i] = depth;
            }
        }
        int[] later = Arrays.copyOfRange(depths, depths.length / 2, depths.length);
        Arrays.sort(later);
        System.out.println("DEPTH " + later[later.length / 2]);
    }
}
