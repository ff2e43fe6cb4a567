package java.instr;

import java.util.concurrent.ForkJoinWorkerThread;
import jdk.internal.misc.Unsafe;

/**
 * Tasks in flight from the thread that hands them over to the one that runs them. Each step is a record of its own; what
 * belongs together is found when the recording is read. A task is known by its identity hash, so nothing is wrapped, kept
 * or looked up, and the application's objects stay what they are.
 */
public final class Tasks {
    private static final Unsafe U = Unsafe.getUnsafe();
    private static final String FIRST_TASK = "firstTask";
    private static final String CARRIER = "jdk.internal.misc.CarrierThread";
    private static final Class<?> CARRIER_THREAD = find(CARRIER);

    /** The pool that runs virtual threads, once a carrier has been seen: what it gets are pieces of threads, not tasks. */
    private static Object virtualThreadScheduler;

    private Tasks() {}

    /**
     * Records that the present thread gives away a task that somebody will run.
     *
     * @param task the task
     */
    public static void handedOver(Object task) {
        if (Timer.on && task != null) Recorder.recordTask(Recorder.TASK_HANDED_OVER, System.identityHashCode(task));
    }

    /**
     * Records that the present thread gives a task to a fork-join pool.
     *
     * @param pool the pool
     * @param task the task
     */
    public static void handedOver(Object pool, Object task) {
        if (!runsVirtualThreads(pool)) handedOver(task);
    }

    /** Whether the pool runs virtual threads, as far as a carrier has been seen. */
    static boolean runsVirtualThreads(Object pool) {
        return pool == virtualThreadScheduler && pool != null;
    }

    /** Whether the present thread carries virtual threads, and runs none of them now. */
    static boolean isCarrier() {
        if (CARRIER_THREAD == null || Thread.currentThread().getClass() != CARRIER_THREAD) return false;
        virtualThreadScheduler = ((ForkJoinWorkerThread) Thread.currentThread()).getPool();
        return true;
    }

    /**
     * Records that the present thread begins to run a task.
     *
     * @param task the task
     * @return whether the caller has to report its end with {@link #ends}
     */
    public static boolean begins(Object task) {
        if (!Timer.on || task == null) return false;
        Recorder.recordTask(Recorder.TASK_BEGINS, System.identityHashCode(task));
        return true;
    }

    /**
     * Does what {@link #begins} does, for a task of a fork-join pool.
     *
     * @param task the task
     * @return whether the caller has to report its end with {@link #ends}
     */
    public static boolean forkedBegins(Object task) {
        if (isCarrier()) return false;
        return begins(task);
    }

    /**
     * A worker of a pool starts, perhaps with a task in its field {@code firstTask}. The worker is recorded as started by itself,
     * because it runs tasks of any thread, not only of the thread that made the pool start it.
     *
     * @param worker the worker
     */
    public static void workerBegins(Object worker) {
        threadStarts(Thread.currentThread());
        if (Timer.on) begins(firstTask(worker));
    }

    /** The first task of a worker that is about to begin; null if it has none, or if nobody knows. */
    static Object firstTask(Object worker) {
        try {
            // Not remembered: the class may belong to an application.
            return worker == null ? null : ObjectField.get(worker, U.objectFieldOffset(worker.getClass(), FIRST_TASK));
        } catch (Throwable noSuchField) {
            return null;
        }
    }

    /** What the present thread began last is over; nothing, if it began nothing. */
    public static void ends() {
        if (Timer.on) Recorder.recordTask(Recorder.TASK_ENDS, 0);
    }

    /**
     * The present thread makes or starts a thread: all that it does belongs together with what the present thread does now.
     * Workers of a fork-join pool work for everybody.
     *
     * @param thread the other thread
     */
    public static void threadStarts(Object thread) {
        if (!Timer.on || !(thread instanceof Thread) || thread instanceof ForkJoinWorkerThread) return;
        long id = U.getLong(thread, Ring.THREAD_ID);
        if (id >>> 32 == 0) Recorder.recordTask(Recorder.THREAD_STARTS, (int) id);
    }

    private static Class<?> find(String name) {
        try {
            return Class.forName(name, false, null);
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }
}
