package targets;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Keeps one thread in a method of each of the classes {@code held.Held0}, {@code held.Held1} and so on until it is asked to release them. */
public final class LongFrames {

    private static volatile CountDownLatch entered;
    private static volatile CountDownLatch released;

    private LongFrames() {}

    /** Called in the middle of the methods. */
    public static void hold() {
        entered.countDown();
        try {
            released.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        int classes = Integer.parseInt(arguments[0]);
        List<Thread> threads = new ArrayList<>();
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            switch (line) {
                case "hold":
                    entered = new CountDownLatch(classes);
                    released = new CountDownLatch(1);
                    for (int i = 0; i < classes; i++) {
                        Runnable held = (Runnable) Class.forName("held.Held" + i).getDeclaredConstructor().newInstance();
                        threads.add(new Thread(held));
                    }
                    threads.forEach(Thread::start);
                    entered.await();
                    System.out.println("held");
                    break;
                case "release":
                    released.countDown();
                    for (Thread thread : threads) {
                        thread.join();
                    }
                    threads.clear();
                    System.out.println("released");
                    break;
                case "quit":
                    return;
                default:
                    System.out.println("? " + line);
            }
        }
    }
}
