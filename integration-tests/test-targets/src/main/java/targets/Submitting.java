package targets;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Hands methods to another thread: one of its own, and one of a class that may be loaded before or after it. */
final class Submitting {

    private static final ExecutorService EXECUTOR = Executors.newSingleThreadExecutor();

    private Submitting() {}

    static int all(int times) throws Exception {
        int sum = 0;
        for (int i = 0; i < times; i++) {
            int amount = i;
            Future<Integer> lambda = EXECUTOR.submit(() -> work(amount));
            Future<Integer> reference = EXECUTOR.submit(HandedJobs::run);
            sum += lambda.get() + reference.get();
        }
        return sum;
    }

    static void end() {
        EXECUTOR.shutdown();
    }

    private static int work(int amount) {
        return amount + 1;
    }
}
