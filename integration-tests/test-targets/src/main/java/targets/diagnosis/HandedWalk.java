package targets.diagnosis;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinWorkerThread;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Walks through methods of contexts that go on in tasks on other threads, handed over in all ways that the JDK has, and that count themselves which calls of {@link #x}
 * are inside which methods, those of the thread that handed the task over included. Answers lines on standard input.
 */
public final class HandedWalk {

    private static final String[][] CONTEXTS = {{"a", "b"}, {"b"}, {"a"}};
    private static final int DEEPEST = 8;
    private static final int THREADS = 3;

    private static final AtomicLong[] INSIDE = {new AtomicLong(), new AtomicLong(), new AtomicLong()};
    /** The same, without what was handed over. */
    private static final AtomicLong[] INSIDE_TASK = {new AtomicLong(), new AtomicLong(), new AtomicLong()};
    private static final AtomicLong OPEN = new AtomicLong();

    private static final ThreadPoolExecutor POOL = (ThreadPoolExecutor) Executors.newFixedThreadPool(THREADS, quiet());
    private static final ThreadPoolExecutor BY_CALLER =
            new ThreadPoolExecutor(1, 1, 1, TimeUnit.MINUTES, new ArrayBlockingQueue<>(1), quiet(), new ThreadPoolExecutor.CallerRunsPolicy());
    private static final ScheduledExecutorService SCHEDULED = Executors.newScheduledThreadPool(THREADS, quiet());
    private static final ForkJoinPool FORK_JOIN = new ForkJoinPool(THREADS);
    private static final ExecutorService HELD = Executors.newSingleThreadExecutor(quiet());

    private HandedWalk() {}

    public static void main(String[] arguments) throws Exception {
        // Workers that wait for their next task when the agent changes their methods.
        for (int i = 0; i < THREADS; i++) {
            POOL.submit(() -> Thread.yield()).get();
        }
        System.out.println("ready");
        CountDownLatch opened = new CountDownLatch(1);
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "walk":
                    System.out.println(walk(words[1].split(","), Integer.parseInt(words[2])));
                    break;
                case "hold":
                    HELD.execute(() -> await(opened));
                    reset();
                    hold(Integer.parseInt(words[1]));
                    System.out.println("held");
                    break;
                case "help":
                    reset();
                    help();
                    System.out.println(counts());
                    break;
                case "workers":
                    reset();
                    workers();
                    System.out.println(counts());
                    break;
                case "run":
                    run(opened);
                    System.out.println("running");
                    break;
                case "release":
                    opened.countDown();
                    HELD.submit(() -> {}).get();
                    System.out.println(counts());
                    break;
                case "quit":
                    System.exit(0);
                    break;
                default:
                    System.out.println("? " + line);
            }
        }
    }

    private static ThreadFactory quiet() {
        return task -> {
            Thread thread = new Thread(task);
            thread.setUncaughtExceptionHandler((of, thrown) -> {});
            thread.setDaemon(true);
            return thread;
        };
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String walk(String[] ways, int walks) throws Exception {
        reset();
        Thread[] walkers = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            Random random = new Random(i);
            walkers[i] = new Thread(() -> {
                for (int walk = 0; walk < walks; walk++) {
                    new Piece(new ArrayList<>(), random.nextLong(), ways).walk();
                }
            });
            walkers[i].start();
        }
        for (Thread walker : walkers) {
            walker.join();
        }
        while (OPEN.get() > 0) {
            Thread.sleep(1);
        }
        return counts();
    }

    private static void reset() {
        for (int i = 0; i < INSIDE.length; i++) {
            INSIDE[i].set(0);
            INSIDE_TASK[i].set(0);
        }
    }

    private static String counts() {
        StringBuilder answer = new StringBuilder("inside");
        for (AtomicLong count : INSIDE) {
            answer.append(' ').append(count.get());
        }
        answer.append(" task");
        for (AtomicLong count : INSIDE_TASK) {
            answer.append(' ').append(count.get());
        }
        return answer.toString();
    }

    /** Hands tasks over that begin when they are released. */
    private static void hold(int tasks) {
        Piece piece = new Piece(new ArrayList<>(), 0, new String[0]);
        piece.a(() -> {
            for (int i = 0; i < tasks; i++) {
                HELD.execute(new Piece(List.of("a"), i, new String[0]));
            }
        });
    }

    /**
     * One of the two threads of the common pool hands a task over outside, then waits for it inside: so it runs it itself, on top of the method in which it waits.
     * The other thread is busy.
     */
    private static void help() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch done = new CountDownLatch(1);
        ForkJoinPool.commonPool().execute(() -> {
            begun.countDown();
            await(done);
        });
        await(begun);
        List<String> inside = List.of("a");
        ForkJoinPool.commonPool().execute(() -> {
            CompletableFuture<Void> other = CompletableFuture.runAsync(() -> x(List.of(), 0));
            new Piece(new ArrayList<>(), 0, new String[0]).a(() -> {
                other.join();
                x(inside, 0);
            });
            done.countDown();
        });
        await(done);
    }

    /** Workers that are made for a task inside run what others hand over later, outside; and one task object is handed over twice. */
    private static void workers() throws Exception {
        ForkJoinPool ownWorkers = new ForkJoinPool(1, OwnWorker::new, null, false);
        ExecutorService twice = Executors.newSingleThreadExecutor(quiet());
        List<String> inside = List.of("a");
        Runnable task = () -> x(inside, 0);
        new Piece(new ArrayList<>(), 0, new String[0]).a(() -> {
            ownWorkers.execute(task);
            twice.execute(task);
            twice.execute(task);
        });
        Runnable outside = () -> x(List.of(), 0);
        ownWorkers.submit(outside).get();
        twice.submit(outside).get();
    }

    /** As servers have them. */
    private static final class OwnWorker extends ForkJoinWorkerThread {
        OwnWorker(ForkJoinPool pool) {
            super(pool);
        }
    }

    /** Hands a task over that runs until it is released, and returns when it does. */
    private static void run(CountDownLatch opened) {
        CountDownLatch runs = new CountDownLatch(1);
        new Piece(new ArrayList<>(), 0, new String[0]).a(() -> HELD.execute(() -> {
            runs.countDown();
            await(opened);
        }));
        await(runs);
    }

    /** What a probe in this method has to notice, by the methods that execute and those inside which the task was handed over. */
    static void x(List<String> stack, int from) {
        for (int i = 0; i < CONTEXTS.length; i++) {
            if (isInside(stack, CONTEXTS[i])) {
                INSIDE[i].incrementAndGet();
            }
            if (isInside(stack.subList(from, stack.size()), CONTEXTS[i])) {
                INSIDE_TASK[i].incrementAndGet();
            }
        }
    }

    private static boolean isInside(List<String> stack, String[] context) {
        int next = 0;
        for (String method : stack) {
            if (next < context.length && method.equals(context[next])) {
                next++;
            }
        }
        return next == context.length;
    }

    /** A part of a walk on one thread. */
    private static final class Piece implements Runnable {

        private final List<String> stack;
        private final int from;
        private final Random random;
        private final String[] ways;

        Piece(List<String> stack, long seed, String[] ways) {
            this.stack = new ArrayList<>(stack);
            this.from = stack.size();
            this.random = new Random(seed);
            this.ways = ways;
            OPEN.incrementAndGet();
        }

        /** Some tasks end by an exception. */
        @Override
        public void run() {
            walk();
            if (random.nextInt(5) == 0) {
                throw new IllegalStateException("at the end of a task");
            }
        }

        void walk() {
            try {
                next();
            } catch (IllegalStateException thrownOnTheWay) {
                // The next walk begins outside again.
            } finally {
                OPEN.decrementAndGet();
            }
        }

        private void next() {
            int calls = 3;
            for (int i = 0; i < calls; i++) {
                switch (random.nextInt(stack.size() < DEEPEST ? 8 : 3)) {
                    case 0:
                    case 1:
                        x(stack, from);
                        break;
                    case 2:
                        if (random.nextInt(8) == 0) {
                            throw new IllegalStateException("on the way");
                        }
                        break;
                    case 3:
                    case 4:
                        a(this::next);
                        break;
                    case 5:
                    case 6:
                        b(this::next);
                        break;
                    default:
                        handOver();
                }
                calls = random.nextInt(4);
            }
        }

        void a(Runnable next) {
            stack.add("a");
            next.run();
            stack.remove(stack.size() - 1);
        }

        void b(Runnable next) {
            stack.add("b");
            try {
                next.run();
            } catch (IllegalStateException thrownBelow) {
                while (!stack.get(stack.size() - 1).equals("b")) {
                    stack.remove(stack.size() - 1);
                }
            }
            stack.remove(stack.size() - 1);
        }

        private void handOver() {
            if (ways.length == 0) {
                return;
            }
            // Deeper there, so that it ends.
            List<String> there = new ArrayList<>(stack);
            String way = ways[random.nextInt(ways.length)];
            switch (way) {
                case "execute":
                    POOL.execute(piece(there));
                    break;
                case "submit":
                    POOL.submit(piece(there));
                    break;
                case "caller":
                    BY_CALLER.execute(piece(there));
                    break;
                case "schedule":
                    SCHEDULED.schedule(piece(there), 1, TimeUnit.MILLISECONDS);
                    break;
                case "forkjoin":
                    forked(piece(there));
                    break;
                case "async":
                    CompletableFuture.runAsync(piece(there)).handle((done, thrown) -> done).thenRunAsync(piece(there), FORK_JOIN);
                    break;
                case "help":
                    Piece piece = piece(there);
                    FORK_JOIN.execute(() -> {
                        try {
                            CompletableFuture.runAsync(piece, FORK_JOIN).join();
                        } catch (RuntimeException thrownByTheTask) {
                            // Some are.
                        }
                    });
                    break;
                case "thread":
                    quiet().newThread(piece(there)).start();
                    break;
                case "subclass":
                    Piece ofThread = piece(there);
                    new Thread() {
                        @Override
                        public void run() {
                            ofThread.walk();
                        }
                    }.start();
                    break;
                default:
                    virtual(piece(there));
            }
        }

        private Piece piece(List<String> there) {
            return new Piece(there, random.nextLong(), ways);
        }

        private static void forked(Piece piece) {
            RecursiveAction action = new RecursiveAction() {
                @Override
                protected void compute() {
                    piece.walk();
                }
            };
            if (ForkJoinPool.commonPool() == java.util.concurrent.ForkJoinTask.getPool() || !java.util.concurrent.ForkJoinTask.inForkJoinPool()) {
                FORK_JOIN.execute(action);
            } else {
                action.fork();
                action.join();
            }
        }

        private static void virtual(Piece piece) {
            try {
                Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) piece::walk);
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }
    }
}
