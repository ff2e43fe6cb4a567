package tasks;

import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;
import java.util.function.Supplier;

/** What is handed to other threads, in every way. */
class Submits {
    private ExecutorService executor;

    void lambda(int amount) {
        executor.submit(() -> work(amount));
    }

    void own() {
        executor.submit(this::ownMethod);
    }

    void other(Jobs jobs) {
        executor.execute(jobs::run);
    }

    void supplier() {
        CompletableFuture.supplyAsync(Jobs::make, executor).thenApply(job -> inThisThread(job));
    }

    void constructor() {
        CompletableFuture.supplyAsync(Jobs::new);
    }

    void anonymous() {
        executor.submit(new Callable<String>() {
            @Override
            public String call() {
                return helper();
            }

            String helper() {
                return "";
            }
        });
    }

    void inner() {
        new Thread(new Inner(), "inner").start();
    }

    void variable() {
        Runnable task = () -> work(2);
        executor.execute(task);
    }

    void timer(Timer timer) {
        timer.schedule(new Beat(), 1000L, 10L);
    }

    void forked(ForkJoinPool pool) {
        pool.submit(new Forked());
    }

    void chosen(boolean first) {
        executor.submit(first ? () -> work(1) : () -> work(3));
    }

    void wrapped() {
        executor.submit(wrap(() -> work(4)));
    }

    void stream(List<String> texts) {
        texts.forEach(text -> work(text.length()));
    }

    void jdk() {
        executor.submit(System::gc);
    }

    void kept() {
        Supplier<Runnable> kept = Inner::new;
        work(kept.hashCode());
    }

    private void ownMethod() {
        work(5);
    }

    private static Jobs inThisThread(Jobs job) {
        return job;
    }

    private static Runnable wrap(Runnable task) {
        return task;
    }

    private static int work(int amount) {
        return amount;
    }

    /** Handed to a thread. */
    private static final class Inner implements Runnable {
        @Override
        public void run() {
            work(6);
        }

        @Override
        public String toString() {
            return "inner";
        }
    }

    /** Handed to a timer. */
    private static final class Beat extends TimerTask {
        @Override
        public void run() {
            work(7);
        }
    }

    /** Handed to a pool. */
    private static final class Forked extends RecursiveTask<Integer> {
        @Override
        protected Integer compute() {
            return work(8);
        }
    }
}

/** Of another class than the methods that hand its methods over. */
class Jobs {
    void run() {}

    static Jobs make() {
        return new Jobs();
    }
}
