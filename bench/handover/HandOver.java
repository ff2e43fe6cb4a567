import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.TimeUnit;

/** What handing a task over costs: run with and without `preset = "async"`; the difference is the agent's. */
public final class HandOver {
    private static final int TASKS = 200_000;
    private static final int ROUNDS = 15;

    private HandOver() {}

    public static void main(String[] arguments) throws Exception {
        double pool = Double.MAX_VALUE;
        double fork = Double.MAX_VALUE;
        for (int round = 0; round < ROUNDS; round++) {
            pool = Math.min(pool, pool());
            fork = Math.min(fork, fork());
        }
        System.out.printf("pool %.0f ns a task, fork-join %.0f ns a task%n", pool, fork);
    }

    private static double pool() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(1);
        int[] sum = new int[1];
        long start = System.nanoTime();
        for (int i = 0; i < TASKS; i++) {
            int number = i;
            pool.submit(() -> sum[0] += number);
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        return (System.nanoTime() - start) / (double) TASKS;
    }

    private static double fork() throws Exception {
        ForkJoinPool pool = new ForkJoinPool(1);
        long start = System.nanoTime();
        Future<Integer> sum = pool.submit(new Sum(TASKS));
        sum.get();
        pool.shutdown();
        return (System.nanoTime() - start) / (double) TASKS;
    }

    private static final class Sum extends RecursiveTask<Integer> {
        private static final long serialVersionUID = 1;
        private final int count;

        Sum(int count) {
            this.count = count;
        }

        @Override
        protected Integer compute() {
            if (count <= 1) return count;
            ForkJoinTask<Integer> left = new Sum(count / 2).fork();
            return new Sum(count - count / 2).invoke() + left.join();
        }
    }
}
