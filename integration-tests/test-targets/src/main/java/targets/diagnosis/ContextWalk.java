package targets.diagnosis;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Methods that call each other at random, by recursion, with exceptions, on several threads, and that count themselves which calls of {@link #x} are
 * inside which other methods. Answers lines on standard input.
 */
public final class ContextWalk {

    private static final String[][] CONTEXTS = {{"a", "b"}, {"b", "a"}, {"a", "b", "c"}, {"a", "a"}, {"c"}};
    private static final int DEEPEST = 12;

    /** Calls of {@link #x} that are inside each context, and all. */
    private final AtomicLong[] inside = new AtomicLong[CONTEXTS.length];
    private final AtomicLong all = new AtomicLong();

    private static final List<Thread> walkers = new ArrayList<>();
    private static final AtomicLong walks = new AtomicLong();
    private static volatile boolean goesOn = true;
    private static ContextWalk walking = new ContextWalk();

    private ContextWalk() {
        for (int i = 0; i < inside.length; i++) {
            inside[i] = new AtomicLong();
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "walk":
                    System.out.println(walk(Integer.parseInt(words[1]), Integer.parseInt(words[2]), false));
                    break;
                case "virtual":
                    System.out.println(walk(Integer.parseInt(words[1]), Integer.parseInt(words[2]), true));
                    break;
                case "background":
                    background(Integer.parseInt(words[1]));
                    System.out.println("walking");
                    break;
                case "counts":
                    System.out.println(walking.counts() + " walks " + walks.get());
                    break;
                case "rest":
                    goesOn = false;
                    for (Thread thread : walkers) {
                        thread.join();
                    }
                    System.out.println(walking.counts());
                    break;
                case "overflow":
                    System.out.println("overflows " + overflow(Integer.parseInt(words[1])));
                    break;
                case "x":
                    new ContextWalk().x(new ArrayList<>());
                    System.out.println("called");
                    break;
                case "quit":
                    return;
                default:
                    System.out.println("? " + line);
            }
        }
    }

    /** Random walks on so many threads at a time; returns how many calls of {@link #x} were inside each context, and all. */
    private static String walk(int threads, int walks, boolean isVirtual) throws Exception {
        ContextWalk counts = new ContextWalk();
        CountDownLatch all = new CountDownLatch(threads);
        for (int i = 0; i < threads; i++) {
            Random random = new Random(i);
            Runnable task = () -> {
                for (int walk = 0; walk < walks; walk++) {
                    try {
                        counts.next(new ArrayList<>(), random);
                    } catch (IllegalStateException thrownOnTheWay) {
                        // The next walk begins outside again.
                    }
                }
                all.countDown();
            };
            if (isVirtual) {
                Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
            } else {
                new Thread(task).start();
            }
        }
        all.await();
        return counts.counts();
    }

    private String counts() {
        StringBuilder answer = new StringBuilder("inside");
        for (AtomicLong count : inside) {
            answer.append(' ').append(count.get());
        }
        return answer.append(" of ").append(all.get()).toString();
    }

    /** Walks on so many threads until they are asked to rest, a few thousand a second each. */
    private static void background(int threads) {
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(new Walker(new Random(i)));
            walkers.add(thread);
            thread.start();
        }
    }

    private void next(List<String> stack, Random random) {
        int calls = stack.isEmpty() ? 3 : random.nextInt(3);
        for (int i = 0; i < calls; i++) {
            int what = random.nextInt(stack.size() < DEEPEST ? 9 : 4);
            switch (what) {
                case 0:
                case 1:
                case 2:
                    x(stack);
                    break;
                case 3:
                    if (random.nextInt(6) == 0) {
                        throw new IllegalStateException("on the way");
                    }
                    Thread.yield();
                    break;
                case 4:
                case 5:
                    a(stack, random);
                    break;
                case 6:
                case 7:
                    caught(stack, random);
                    break;
                default:
                    c(stack, random);
            }
        }
    }

    private void caught(List<String> stack, Random random) {
        int depth = stack.size();
        try {
            b(stack, random);
        } catch (IllegalStateException thrownBelow) {
            while (stack.size() > depth) {
                stack.remove(stack.size() - 1);
            }
        }
    }

    void a(List<String> stack, Random random) {
        stack.add("a");
        next(stack, random);
        stack.remove(stack.size() - 1);
    }

    void b(List<String> stack, Random random) {
        stack.add("b");
        next(stack, random);
        stack.remove(stack.size() - 1);
    }

    void c(List<String> stack, Random random) {
        stack.add("c");
        next(stack, random);
        stack.remove(stack.size() - 1);
    }

    /** What a probe in this method has to notice, by the methods that execute. */
    void x(List<String> stack) {
        all.incrementAndGet();
        for (int i = 0; i < CONTEXTS.length; i++) {
            if (isInside(stack, CONTEXTS[i])) {
                inside[i].incrementAndGet();
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

    /** Recursion through the methods of contexts until the stack overflows, so many times. */
    private static int overflow(int times) throws Exception {
        int[] overflows = {0};
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < times; i++) {
                try {
                    new ContextWalk().downA(i % 7);
                } catch (StackOverflowError expected) {
                    overflows[0]++;
                }
            }
        }, "overflows", 256 * 1024);
        thread.start();
        thread.join();
        return overflows[0];
    }

    private int downA(int odd) {
        return 1 + downB(odd + 1);
    }

    private int downB(int odd) {
        try {
            return 1 + downA(odd + 1);
        } catch (StackOverflowError overflow) {
            if (odd % 5 == 0) {
                y();
            }
            throw overflow;
        }
    }

    static int calls;

    static void y() {
        calls++;
    }

    /** A loop that does not return, in a class of its own: nothing is inserted into a class with such a loop. */
    private static final class Walker implements Runnable {

        private final Random random;

        private Walker(Random random) {
            this.random = random;
        }

        @Override
        public void run() {
            while (goesOn) {
                try {
                    walking.next(new ArrayList<>(), random);
                } catch (IllegalStateException thrownOnTheWay) {
                    // The next walk begins outside again.
                }
                if (walks.incrementAndGet() % 8 == 0) {
                    LockSupport.parkNanos(1_000_000);
                }
            }
        }
    }
}
