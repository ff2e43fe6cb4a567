import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.RecursiveTask;

/**
 * CPU time of handing a task over and running it, all threads together: run with and without {@code preset = "async"}; the
 * difference is the agent's. Give it a buffer in which all records have room ({@code buffer-mb = 1024}).
 */
public final class HandOver {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
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
        long start = THREADS.getCurrentThreadCpuTime();
        for (int i = 0; i < TASKS; i++) {
            int number = i;
            pool.submit(() -> sum[0] += number);
        }
        long mine = THREADS.getCurrentThreadCpuTime() - start;
        long workers = pool.submit(THREADS::getCurrentThreadCpuTime).get();
        pool.shutdown();
        return (mine + workers) / (double) TASKS;
    }

    private static double fork() throws Exception {
        ForkJoinPool pool = new ForkJoinPool(1);
        Callable<Long> task = () -> {
            long start = THREADS.getCurrentThreadCpuTime();
            new Sum(TASKS).invoke();
            return THREADS.getCurrentThreadCpuTime() - start;
        };
        long nanos = pool.submit(task).get();
        pool.shutdown();
        return nanos / (double) TASKS;
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
