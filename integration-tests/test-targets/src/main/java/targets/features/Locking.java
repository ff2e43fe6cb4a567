package targets.features;

import java.util.ArrayList;
import java.util.List;
import targets.Calls;

/** Monitors: who holds them inside and after synchronized methods and blocks, left normally and by exceptions. */
final class Locking {

    private static final String PREFIX = "targets.features.Locking.";
    private static final int THREADS = 4;
    private static final int ROUNDS = 2_000;

    private int counter;
    private boolean open;

    private Locking() {}

    static String run() throws InterruptedException {
        Locking lock = new Locking();
        StringBuilder out = new StringBuilder();
        out.append(lock.held(false)).append(Thread.holdsLock(lock)).append(' ');
        out.append(heldStatic()).append(Thread.holdsLock(Locking.class)).append(' ');
        try {
            lock.held(true);
        } catch (IllegalStateException thrown) {
            out.append("left ").append(Thread.holdsLock(lock)).append(' ');
        }
        out.append(lock.block(3)).append(Thread.holdsLock(lock)).append(' ');
        out.append(lock.nestedBlocks(new Object())).append(' ').append(notOwner()).append(' ');
        out.append(lock.contended()).append(' ').append(lock.waits());
        return out.toString();
    }

    synchronized String held(boolean throwing) {
        Calls.one(PREFIX + "held");
        if (throwing) {
            throw new IllegalStateException();
        }
        return "in " + Thread.holdsLock(this) + " out ";
    }

    static synchronized String heldStatic() {
        Calls.one(PREFIX + "heldStatic");
        return "in " + Thread.holdsLock(Locking.class) + " out ";
    }

    String block(int n) {
        Calls.one(PREFIX + "block");
        synchronized (this) {
            for (int i = 0; i < n; i++) {
                synchronized (this) {
                    if (i == 2) {
                        return "block" + i + Thread.holdsLock(this);
                    }
                }
            }
            return "never";
        }
    }

    private String nestedBlocks(Object other) {
        try {
            synchronized (this) {
                synchronized (other) {
                    throw new IllegalArgumentException("inside " + Thread.holdsLock(this) + Thread.holdsLock(other));
                }
            }
        } catch (IllegalArgumentException thrown) {
            return thrown.getMessage() + " outside " + Thread.holdsLock(this) + Thread.holdsLock(other);
        }
    }

    private static String notOwner() {
        try {
            new Object().notifyAll();
            return "notified";
        } catch (IllegalMonitorStateException thrown) {
            return "not-owner";
        }
    }

    private int contended() throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int t = 0; t < THREADS; t++) {
            Thread thread = new Thread(() -> {
                for (int i = 0; i < ROUNDS; i++) {
                    increment();
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return counter;
    }

    synchronized void increment() {
        Calls.one(PREFIX + "increment");
        counter++;
    }

    private synchronized String waits() throws InterruptedException {
        Thread opener = new Thread(this::open);
        opener.start();
        while (!open) {
            wait();
        }
        opener.join();
        return "opened";
    }

    synchronized void open() {
        Calls.one(PREFIX + "open");
        open = true;
        notifyAll();
    }
}
