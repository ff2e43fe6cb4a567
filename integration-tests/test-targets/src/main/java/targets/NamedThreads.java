package targets;

import java.util.ArrayList;
import java.util.List;

/** Threads with names, each of which calls {@code work} so often as its number says; some wait in between, one is interrupted. */
public final class NamedThreads {

    private NamedThreads() {}

    public static void main(String[] arguments) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (String name : new String[] {"http-nio/8080-100", "http-admin-200", "batch-300"}) {
            int calls = Integer.parseInt(name.substring(name.lastIndexOf('-') + 1));
            threads.add(new Thread(() -> repeat(calls), name));
        }
        for (Thread thread : threads) {
            thread.start();
        }
        repeat(400);
        for (Thread thread : threads) {
            thread.join();
        }
        Thread waits = new Thread(NamedThreads::waitForEver, "waits");
        waits.start();
        waits.interrupt();
        waits.join();
    }

    private static void repeat(int calls) {
        int sum = 0;
        for (int i = 0; i < calls; i++) {
            sum += work(i);
        }
        System.out.println(sum);
    }

    static int work(int i) {
        // Leaves the processor a hundred times.
        if (i < 100) {
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        return i;
    }

    static void waitForEver() {
        try {
            Thread.sleep(1_000_000);
        } catch (InterruptedException wanted) {
            Thread.currentThread().interrupt();
        }
    }
}
