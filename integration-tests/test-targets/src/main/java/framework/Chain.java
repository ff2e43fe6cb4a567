package framework;

import java.util.concurrent.locks.LockSupport;

/** What a framework does: it reaches the application's code, and from there the driver's, through many methods of its own. */
public final class Chain {

    private Chain() {}

    /** Runs something inside ten methods, of which the fifth may wait itself. */
    public static void through(Runnable inner, long ownNanos) {
        one(inner, ownNanos);
    }

    private static void one(Runnable inner, long ownNanos) {
        two(inner, ownNanos);
    }

    private static void two(Runnable inner, long ownNanos) {
        three(inner, ownNanos);
    }

    private static void three(Runnable inner, long ownNanos) {
        four(inner, ownNanos);
    }

    private static void four(Runnable inner, long ownNanos) {
        five(inner, ownNanos);
    }

    private static void five(Runnable inner, long ownNanos) {
        if (ownNanos > 0) {
            LockSupport.parkNanos(ownNanos);
        }
        six(inner, ownNanos);
    }

    private static void six(Runnable inner, long ownNanos) {
        seven(inner, ownNanos);
    }

    private static void seven(Runnable inner, long ownNanos) {
        eight(inner, ownNanos);
    }

    private static void eight(Runnable inner, long ownNanos) {
        nine(inner, ownNanos);
    }

    private static void nine(Runnable inner, long ownNanos) {
        ten(inner, ownNanos);
    }

    private static void ten(Runnable inner, long ownNanos) {
        inner.run();
    }
}
