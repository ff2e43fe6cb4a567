package targets;

/**
 * Native code whose frames nobody can walk, above Java code and below it: {@code OddFrames LIBRARY ROUNDS}. The library calls
 * {@link #back} from deep below, which calls the library once more.
 */
public final class OddFrames {

    private OddFrames() {}

    public static void main(String[] arguments) {
        System.load(arguments[0]);
        long sum = 0;
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            sum += deep(i % 40 + 1);
        }
        System.out.println("sum " + sum);
    }

    /** So many native frames, and {@link #back} at their end. */
    private static native long deep(int frames);

    /** Works for a while with nothing sensible in the frame pointer. */
    private static native long spin(int steps);

    private static long back(int frames) {
        long sum = 0;
        for (int i = 0; i < 2_000; i++) {
            sum = sum * 31 + i;
        }
        return sum + spin(frames * 500);
    }
}
