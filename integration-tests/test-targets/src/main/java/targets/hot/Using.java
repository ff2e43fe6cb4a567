package targets.hot;

import java.util.Scanner;

/**
 * Two methods call a third one as often as each other: for {@code works} it uses the processor and allocates little, for {@code waits} it waits longer than that and allocates nine times as much.
 */
public class Using {
    private static final int FEW_BYTES = 2_000;
    private static final int MANY_BYTES = 18_000;
    private static final long NANOS = 400_000L;
    private static volatile byte[] last;

    public static void main(String[] arguments) {
        Thread worker = new Thread(Worker::work, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        while (!lines.nextLine().equals("quit")) {
            System.out.println("ok");
        }
    }

    /** A class of its own: one whose frame stays is not changed. */
    static final class Worker {
        static void work() {
            while (true) round();
        }
    }

    static void round() {
        works();
        waits();
    }

    private static void works() {
        use(FEW_BYTES, false);
    }

    private static void waits() {
        use(MANY_BYTES, true);
    }

    static void use(int bytes, boolean waits) {
        last = new byte[bytes];
        try {
            if (waits) Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        long begin = System.nanoTime();
        while (!waits && System.nanoTime() - begin < NANOS) Thread.onSpinWait();
    }
}
