package targets.library;

import static targets.library.LibraryTour.show;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.Phaser;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/** Threads, locks, executors, references. */
final class ConcurrencyTopics {

    private static final int THREADS = 4;
    private static final int TIMES = 200;

    private ConcurrencyTopics() {}

    static void visitAll() {
        show("locks", ConcurrencyTopics::locks);
        show("queues", ConcurrencyTopics::queues);
        show("maps of many threads", ConcurrencyTopics::maps);
        show("executors", ConcurrencyTopics::executors);
        show("failed task", ConcurrencyTopics::failedTask);
        show("futures", ConcurrencyTopics::futures);
        show("fork and join", () -> new ForkJoinPool(3).invoke(new Sum(0, 5_000)));
        show("meeting points", ConcurrencyTopics::meetingPoints);
        show("timers", ConcurrencyTopics::timers);
        show("interrupts", ConcurrencyTopics::interrupts);
        show("thread locals", ConcurrencyTopics::threadLocals);
        show("wait and notify", ConcurrencyTopics::waitAndNotify);
        show("not the owner", () -> {
            new Object().notify();
            return "no exception";
        });
        show("updaters", ConcurrencyTopics::updaters);
        show("recursion", () -> depthOfOverflow() > 100);
    }

    private static Object locks() throws Exception {
        ReentrantLock lock = new ReentrantLock(true);
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        StampedLock stamped = new StampedLock();
        Semaphore semaphore = new Semaphore(2);
        int[] counts = new int[4];
        inThreads(() -> {
            for (int i = 0; i < TIMES; i++) {
                lock.lock();
                try {
                    counts[0]++;
                } finally {
                    lock.unlock();
                }
                both.writeLock().lock();
                counts[1]++;
                both.readLock().lock();
                both.writeLock().unlock();
                both.readLock().unlock();
                long stamp = stamped.writeLock();
                counts[2]++;
                stamped.unlockWrite(stamp);
                semaphore.acquireUninterruptibly();
                semaphore.release();
                synchronized (counts) {
                    counts[3]++;
                }
            }
        });
        return Arrays.toString(counts) + lock.isLocked() + semaphore.availablePermits()
                + stamped.validate(stamped.tryOptimisticRead());
    }

    private static Object queues() throws Exception {
        List<BlockingQueue<Integer>> queues = List.of(new ArrayBlockingQueue<>(3), new LinkedBlockingDeque<>(),
                new SynchronousQueue<>(true));
        List<Long> sums = new ArrayList<>();
        for (BlockingQueue<Integer> queue : queues) {
            AtomicLong sum = new AtomicLong();
            Thread consumer = new Thread(() -> {
                try {
                    for (int got = queue.take(); got >= 0; got = queue.take()) {
                        sum.addAndGet(got);
                    }
                } catch (InterruptedException e) {
                    sum.set(-1);
                }
            });
            consumer.start();
            for (int i = 0; i < TIMES; i++) {
                queue.put(i);
            }
            queue.put(-1);
            consumer.join();
            sums.add(sum.get());
        }
        return sums + " " + new ArrayBlockingQueue<>(1).poll(1, TimeUnit.MILLISECONDS);
    }

    private static Object maps() throws Exception {
        ConcurrentHashMap<Integer, Integer> hash = new ConcurrentHashMap<>();
        ConcurrentSkipListMap<Integer, Integer> sorted = new ConcurrentSkipListMap<>();
        ConcurrentLinkedQueue<Integer> queue = new ConcurrentLinkedQueue<>();
        CopyOnWriteArrayList<Integer> list = new CopyOnWriteArrayList<>();
        LongAdder adder = new LongAdder();
        inThreads(() -> {
            for (int i = 0; i < TIMES; i++) {
                hash.merge(i, 1, Integer::sum);
                sorted.merge(-i, i, Integer::sum);
                queue.add(i);
                list.addIfAbsent(i % 10);
                adder.increment();
            }
        });
        return hash.hashCode() + " " + sorted.firstEntry() + queue.size() + list.size() + adder + hash.reduceValues(1, Integer::sum);
    }

    private static Object executors() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(THREADS);
        List<Future<Integer>> results = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            int n = i;
            results.add(pool.submit(() -> n * n));
        }
        int sum = 0;
        for (Future<Integer> result : results) {
            sum += result.get();
        }
        Integer any = pool.invokeAny(List.of(() -> 5));
        pool.shutdown();
        return sum + " " + any + pool.awaitTermination(1, TimeUnit.MINUTES) + pool.isTerminated();
    }

    private static Object failedTask() throws Exception {
        ExecutorService pool = Executors.newSingleThreadExecutor();
        try {
            return pool.submit(() -> Integer.parseInt("none")).get();
        } catch (ExecutionException failed) {
            return failed.getCause();
        } finally {
            pool.shutdownNow();
        }
    }

    private static Object futures() throws Exception {
        CompletableFuture<Integer> left = CompletableFuture.supplyAsync(() -> 20);
        CompletableFuture<Integer> right = CompletableFuture.supplyAsync(() -> 22);
        String joined = left.thenCombine(right, Integer::sum).thenApply(sum -> "sum " + sum).get();
        CompletableFuture<Object> failing = CompletableFuture.supplyAsync(() -> {
            throw new IllegalStateException("on purpose");
        });
        String handled = failing.handle((value, thrown) -> thrown instanceof CompletionException ? thrown.getMessage() : "?").join()
                .toString();
        try {
            new CompletableFuture<>().get(1, TimeUnit.MILLISECONDS);
        } catch (TimeoutException expected) {
            handled += " timed out";
        }
        return joined + handled;
    }

    private static Object meetingPoints() throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(THREADS);
        CountDownLatch latch = new CountDownLatch(THREADS);
        Phaser phaser = new Phaser(THREADS);
        AtomicInteger passed = new AtomicInteger();
        inThreads(() -> {
            try {
                for (int i = 0; i < 20; i++) {
                    barrier.await();
                    phaser.arriveAndAwaitAdvance();
                    passed.incrementAndGet();
                }
                latch.countDown();
            } catch (Exception e) {
                passed.set(-1_000_000);
            }
        });
        latch.await();
        Exchanger<String> exchanger = new Exchanger<>();
        CompletableFuture<String> other = CompletableFuture.supplyAsync(() -> exchange(exchanger, "theirs"));
        return passed + " " + phaser.getPhase() + exchange(exchanger, "ours") + other.get();
    }

    private static String exchange(Exchanger<String> exchanger, String mine) {
        try {
            return exchanger.exchange(mine);
        } catch (InterruptedException e) {
            return "interrupted";
        }
    }

    private static Object timers() throws Exception {
        CountDownLatch fired = new CountDownLatch(3);
        Timer timer = new Timer(true);
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                fired.countDown();
            }
        }, 1);
        ScheduledExecutorService scheduler = Executors.newScheduledThreadPool(1);
        scheduler.scheduleAtFixedRate(fired::countDown, 0, 1, TimeUnit.MILLISECONDS);
        fired.await();
        timer.cancel();
        scheduler.shutdownNow();
        return fired.getCount() + " " + scheduler.awaitTermination(1, TimeUnit.MINUTES);
    }

    private static Object interrupts() throws Exception {
        StringBuffer seen = new StringBuffer();
        Thread sleeping = new Thread(() -> {
            try {
                Thread.sleep(TimeUnit.HOURS.toMillis(1));
            } catch (InterruptedException expected) {
                seen.append(expected.getMessage()).append(Thread.currentThread().isInterrupted());
            }
        });
        sleeping.start();
        sleeping.interrupt();
        sleeping.join();
        Thread parked = new Thread(LockSupport::park);
        parked.start();
        LockSupport.unpark(parked);
        parked.join();
        return seen + " " + parked.getState() + parked.isAlive();
    }

    private static Object threadLocals() throws Exception {
        ThreadLocal<StringBuilder> local = ThreadLocal.withInitial(() -> new StringBuilder("initial"));
        InheritableThreadLocal<String> inherited = new InheritableThreadLocal<>();
        inherited.set("from the parent");
        StringBuffer seen = new StringBuffer();
        Thread thread = new Thread(() -> {
            local.get().append(" changed");
            seen.append(local.get()).append(inherited.get());
            local.remove();
            seen.append(local.get());
        }, "a name");
        thread.setUncaughtExceptionHandler((t, thrown) -> seen.append(thrown));
        thread.start();
        thread.join();
        return seen + " " + local.get() + thread.getName() + thread.getPriority();
    }

    private static Object waitAndNotify() throws Exception {
        Object monitor = new Object();
        boolean[] ready = new boolean[1];
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        AtomicInteger woken = new AtomicInteger();
        Thread waiting = new Thread(() -> {
            try {
                synchronized (monitor) {
                    while (!ready[0]) {
                        monitor.wait();
                    }
                }
                woken.incrementAndGet();
            } catch (InterruptedException e) {
                woken.set(-1);
            }
        });
        waiting.start();
        synchronized (monitor) {
            ready[0] = true;
            monitor.notifyAll();
        }
        waiting.join();
        lock.lock();
        boolean inTime = condition.await(1, TimeUnit.MILLISECONDS);
        lock.unlock();
        return woken + " " + inTime;
    }

    private static Object updaters() {
        Node node = new Node();
        AtomicReferenceFieldUpdater<Node, String> updater = AtomicReferenceFieldUpdater.newUpdater(Node.class, String.class, "text");
        return updater.compareAndSet(node, null, "set") + node.text + updater.getAndUpdate(node, text -> text + "!") + node.text;
    }

    private static int depthOfOverflow() {
        int[] depth = new int[1];
        try {
            descend(depth);
        } catch (StackOverflowError expected) {
            return depth[0];
        }
        return -1;
    }

    private static void descend(int[] depth) {
        depth[0]++;
        descend(depth);
    }

    private static void inThreads(Runnable work) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(work, "worker-" + i);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static final class Node {
        volatile String text;
    }

    private static final class Sum extends RecursiveTask<Long> {

        private static final long serialVersionUID = 1;

        private final int from;
        private final int to;

        Sum(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            if (to - from < 100) {
                long sum = 0;
                for (int i = from; i < to; i++) {
                    sum += i;
                }
                return sum;
            }
            int middle = (from + to) >>> 1;
            Sum left = new Sum(from, middle);
            left.fork();
            return new Sum(middle, to).compute() + left.join();
        }
    }
}
