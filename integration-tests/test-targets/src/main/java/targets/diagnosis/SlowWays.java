package targets.diagnosis;

import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.Deflater;

/** Ways to take 27 ms. */
public final class SlowWays {

    static final String[] NAMES = {"park", "sleep", "busy", "lock", "native", "reflection", "lambda", "proxy", "executor", "execute", "counting"};
    static final long NANOS = 27_000_000;
    private static final int SHORT_CALLS = 100_000;
    private static final List<String> THREE = List.of("one", "two", "three");
    private static final Task TASK = (Task) Proxy.newProxyInstance(SlowWays.class.getClassLoader(), new Class<?>[] {Task.class},
            (proxy, method, arguments) -> handled((Long) arguments[0]));
    private static final Till[] TILLS = {new Till(), new Till()};
    private static final ExecutorService POOL = Executors.newFixedThreadPool(TILLS.length, SlowWays::daemon);
    private static final byte[] NOISE = new byte[1 << 16];
    private static final Method WORK;
    private static int mixed;

    static {
        new Random(1).nextBytes(NOISE);
        try {
            WORK = SlowWays.class.getDeclaredMethod("work", long.class);
        } catch (NoSuchMethodException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** What the proxy implements. */
    public interface Task {
        long run(long nanos);
    }

    private SlowWays() {}

    static void slow(String way, RootCall call) {
        switch (way) {
            case "park":
                parking();
                break;
            case "execute":
                executeOrder();
                break;
            case "counting":
                sleepingAndCounting();
                break;
            case "sleep":
                sleeping();
                break;
            case "busy":
                computing();
                break;
            case "lock":
                waitingForTheLock(TILLS[call.lane]);
                break;
            case "native":
                compressing();
                break;
            case "reflection":
                byReflection();
                break;
            case "lambda":
                inLambda();
                break;
            case "proxy":
                throughProxy();
                break;
            case "executor":
                inExecutor();
                break;
            default:
                throw new IllegalArgumentException(way);
        }
    }

    static void parking() {
        long end = System.nanoTime() + NANOS;
        while (System.nanoTime() < end) {
            LockSupport.parkNanos(end - System.nanoTime());
        }
    }

    /** Its name may be that of a statement of JDBC: the agent has to look at classes. */
    private static void executeOrder() {
        sleeping();
    }

    static void sleeping() {
        try {
            Thread.sleep(NANOS / 1_000_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The calls in its loop are so short that measuring them would take longer than they do. */
    private static void sleepingAndCounting() {
        sleeping();
        for (int i = 0; i < SHORT_CALLS; i++) {
            mixed = mix(mixed + i);
        }
    }

    private static int mix(int bits) {
        int mixing = bits ^ bits << 13;
        return mixing ^ mixing >>> 17;
    }

    static void computing() {
        Pauses.spin(NANOS);
    }

    static void waitingForTheLock(Till till) {
        till.occupy();
        till.enter();
    }

    /** Most of it in a native method that computes. */
    static void compressing() {
        long start = System.nanoTime();
        byte[] compressed = new byte[NOISE.length * 2];
        Deflater deflater = new Deflater();
        while (System.nanoTime() - start < NANOS) {
            deflater.reset();
            deflater.setInput(NOISE);
            deflater.finish();
            deflater.deflate(compressed);
        }
        deflater.end();
    }

    static void byReflection() {
        try {
            WORK.invoke(null, NANOS);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static void inLambda() {
        THREE.forEach(each -> work(NANOS / THREE.size()));
    }

    static void throughProxy() {
        TASK.run(NANOS);
    }

    private static long handled(long nanos) {
        work(nanos);
        return nanos;
    }

    /** The work is done by another thread. */
    static void inExecutor() {
        try {
            POOL.submit(() -> work(NANOS)).get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    static void work(long nanos) {
        Pauses.park(nanos);
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }

    /** A lock that another thread holds whenever it is asked to. */
    static final class Till {

        private final SynchronousQueue<CountDownLatch> requests = new SynchronousQueue<>();
        private int entered;

        private Till() {
            daemon(new Holder(this)).start();
        }

        /** Returns when the other thread has the lock. */
        void occupy() {
            try {
                CountDownLatch isHeld = new CountDownLatch(1);
                requests.put(isHeld);
                isHeld.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }

        synchronized int enter() {
            return entered++;
        }
    }

    /** Never returns, so that it is a class of its own. */
    private static final class Holder implements Runnable {

        private final Till till;

        private Holder(Till till) {
            this.till = till;
        }

        @Override
        public void run() {
            try {
                while (true) {
                    CountDownLatch isHeld = till.requests.take();
                    synchronized (till) {
                        isHeld.countDown();
                        Pauses.park(NANOS);
                    }
                }
            } catch (InterruptedException end) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
