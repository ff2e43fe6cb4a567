package targets.hot;

import java.util.Scanner;

/**
 * A method that waits: samples of processor time hardly ever meet it. Of ten calls of it {@code often} makes seven, {@code seldom} two and {@code once} one, all on behalf of
 * {@code round}.
 */
public class Waiting {
    private static final int OFTEN = 7;
    private static final int SELDOM = 2;

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
        for (int i = 0; i < OFTEN; i++) often();
        for (int i = 0; i < SELDOM; i++) seldom();
        once();
    }

    private static void often() {
        receive();
    }

    private static void seldom() {
        receive();
    }

    private static void once() {
        receive();
    }

    static void receive() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
