package targets.diagnosis;

import java.util.concurrent.locks.LockSupport;

/** Lengths of time that do not depend on the processor. */
public final class Pauses {

    static volatile long sink;

    private Pauses() {}

    /** Waits so long. */
    public static void park(long nanos) {
        long end = System.nanoTime() + nanos;
        for (long left = nanos; left > 0; left = end - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** Computes so long. The clock is read some ten thousand times a second only: a call site that is measured there must not change the length. */
    public static void spin(long nanos) {
        long start = System.nanoTime();
        long sum = start;
        do {
            for (int i = 0; i < 50_000; i++) {
                sum = sum * 31 + (sum >>> 7);
            }
        } while (System.nanoTime() - start < nanos);
        sink = sum;
    }
}
