package targets;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/**
 * Several clients at once have work done on other threads, in every way that the JDK has. What {@code viaX} causes is called
 * {@code xWork}, so a call below the wrong transaction shows. All share their pools. With the argument {@code stay} the program ends when
 * it is sent a line.
 */
public final class Transactions {

    static final int CLIENTS = 3;
    static final int ROUNDS = 12;
    static final int PARTS = 16;
    private static final AtomicLong DONE = new AtomicLong();
    private static final ExecutorService POOL = Executors.newFixedThreadPool(2);
    private static final ScheduledExecutorService CLOCK = Executors.newScheduledThreadPool(2);
    private static final ForkJoinPool FORKED = new ForkJoinPool(3);
    private static final Method VIRTUAL = virtual();

    private Transactions() {}

    private interface Way {
        void go() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        List<Thread> clients = new ArrayList<>();
        for (int client = 0; client < CLIENTS; client++) {
            int first = client * 3;
            clients.add(new Thread(() -> client(first), "client-" + client));
        }
        clients.forEach(Thread::start);
        for (int i = 0; i < ROUNDS; i++) {
            POOL.submit(() -> background()).get();
        }
        for (Thread client : clients) {
            client.join();
        }
        POOL.shutdown();
        CLOCK.shutdown();
        FORKED.shutdown();
        boolean terminated = true;
        for (ExecutorService executor : List.of(POOL, CLOCK, FORKED)) {
            terminated &= executor.awaitTermination(1, TimeUnit.MINUTES);
        }
        System.out.println("done " + DONE + " " + terminated);
        if (arguments.length > 0) {
            System.in.read();
        }
    }

    private static void client(int first) {
        List<Way> ways = new ArrayList<>(List.of(
                Transactions::viaSubmit,
                Transactions::viaExecute,
                Transactions::viaFuture,
                Transactions::viaStages,
                Transactions::viaForkJoin,
                Transactions::viaFork,
                Transactions::viaStream,
                Transactions::viaSchedule,
                Transactions::viaThread,
                Transactions::viaChain,
                Transactions::viaNobody,
                Transactions::viaShared));
        if (VIRTUAL != null) {
            ways.add(Transactions::viaVirtual);
        }
        for (int round = 0; round < ROUNDS; round++) {
            for (int i = 0; i < ways.size(); i++) {
                try {
                    ways.get((first + i) % ways.size()).go();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }

    static void viaSubmit() throws Exception {
        Future<?> future = POOL.submit(() -> submitWork());
        work();
        future.get();
    }

    /** A task that is a new object each time, and goes into the queue as it is. */
    static void viaExecute() throws Exception {
        CompletableFuture<Void> done = new CompletableFuture<>();
        POOL.execute(() -> {
            executeWork();
            done.complete(null);
        });
        done.get();
    }

    static void viaFuture() {
        CompletableFuture.supplyAsync(() -> futureWork(), POOL).join();
    }

    static void viaStages() {
        CompletableFuture.runAsync(() -> stagesWork()).thenRunAsync(() -> stagesWork(), POOL).thenRun(() -> stagesWork()).join();
    }

    static void viaForkJoin() throws Exception {
        FORKED.submit(() -> forkJoinWork()).get();
    }

    static void viaFork() {
        FORKED.invoke(new Part(0, PARTS));
    }

    static void viaStream() throws Exception {
        FORKED.submit(() -> IntStream.range(0, PARTS).parallel().forEach(i -> streamWork())).get();
    }

    static void viaSchedule() throws Exception {
        CLOCK.schedule(() -> scheduleWork(), 1, TimeUnit.MILLISECONDS).get();
    }

    static void viaThread() throws Exception {
        Thread thread = new Thread(() -> {
            threadWork();
            threadWork();
        });
        thread.start();
        work();
        thread.join();
    }

    static void viaVirtual() throws Exception {
        Thread thread = (Thread) VIRTUAL.invoke(null, (Runnable) () -> virtualWork());
        thread.join();
    }

    /** A task hands over a task, which starts a thread. */
    static void viaChain() throws Exception {
        POOL.submit(() -> CompletableFuture.runAsync(() -> {
            Thread thread = new Thread(() -> chainWork());
            thread.start();
            join(thread);
        }, CLOCK)).get();
        // The task above does not wait for what it handed on.
        CompletableFuture.runAsync(() -> chainWork(), CLOCK).join();
    }

    /** Goes on after the transaction has ended. */
    static void viaNobody() {
        POOL.execute(new Runnable() {
            @Override
            public void run() {
                nobodyWork();
            }
        });
    }

    /** The same object for all clients: perhaps nobody can tell whose it is. */
    static void viaShared() {
        POOL.execute(Transactions::sharedWork);
    }

    static void background() {
        work();
    }

    static void submitWork() {
        work();
    }

    static void executeWork() {
        work();
    }

    static long futureWork() {
        work();
        return 1;
    }

    static void stagesWork() {
        work();
    }

    static void forkJoinWork() {
        work();
    }

    static void forkWork() {
        work();
    }

    static void streamWork() {
        work();
    }

    static void scheduleWork() {
        work();
    }

    static void threadWork() {
        work();
    }

    static void virtualWork() {
        work();
    }

    static void chainWork() {
        work();
    }

    static void nobodyWork() {
        work();
    }

    static void sharedWork() {
        work();
    }

    private static void work() {
        try {
            Thread.sleep(1, 300_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        DONE.incrementAndGet();
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Method virtual() {
        try {
            return Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException beforeJdk21) {
            return null;
        }
    }

    private static final class Part extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final int from;
        private final int to;

        Part(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected void compute() {
            if (to - from == 1) {
                forkWork();
            } else {
                int middle = (from + to) / 2;
                ForkJoinTask.invokeAll(new Part(from, middle), new Part(middle, to));
            }
        }
    }
}
