package targets;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Load whose figures the program knows itself: each line on standard input asks for one kind, the answer says what was done.
 * {@code load}, {@code Own} and the threads are not instrumented by the tests.
 */
public final class KnownLoad {

    private static final List<Thread> HOLDING = new ArrayList<>();
    private static CountDownLatch release = new CountDownLatch(1);
    private static final List<byte[]> LEAKED = new ArrayList<>();
    static Object kept;

    private KnownLoad() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            String[] words = line.split(" ");
            int[] numbers = new int[words.length];
            for (int i = 1; i < words.length; i++) {
                numbers[i] = Integer.parseInt(words[i]);
            }
            System.out.println(words[0] + " " + load(words[0], numbers));
        }
    }

    private static String load(String kind, int[] numbers) throws Exception {
        switch (kind) {
            case "steady":
                return Own.steady(numbers[1], numbers[2], numbers[3]);
            case "begin":
                return Own.begin(numbers[1], numbers[2]);
            case "end":
                return Own.end();
            case "fail":
                return Own.fail(numbers[1]);
            case "burn":
                return Own.burn(numbers[1]);
            case "allocate":
                return Own.allocate(numbers[1], numbers[2]);
            case "hold":
                return Own.hold(numbers[1], numbers[2] != 0);
            case "release":
                return Own.release();
            case "recurse":
                return Integer.toString(recurse(numbers[1]));
            case "talk":
                return Own.talk(numbers[1]);
            case "leak":
                LEAKED.add(new byte[numbers[1]]);
                System.gc();
                return Integer.toString(LEAKED.size());
            case "collect":
                System.gc();
                return "done";
            default:
                return "?";
        }
    }

    static void paced(long millis) throws InterruptedException {
        Thread.sleep(millis);
    }

    static void failing() {
        throw new IllegalStateException("wanted");
    }

    /** Uses so much processor time, however long that takes. */
    static long burning(long nanos, ThreadMXBean threads) {
        long end = threads.getCurrentThreadCpuTime() + nanos;
        long steps = 0;
        while (threads.getCurrentThreadCpuTime() < end) {
            steps++;
        }
        return steps;
    }

    static void allocating(int bytes) {
        kept = new byte[bytes];
    }

    static void held(CountDownLatch inside, CountDownLatch until) throws InterruptedException {
        inside.countDown();
        until.await();
    }

    static int recurse(int depth) throws InterruptedException {
        Thread.sleep(3);
        return depth == 1 ? 1 : 1 + recurse(depth - 1);
    }

    /** Runs the load and counts it. */
    static final class Own {

        private static final List<Thread> PACING = new ArrayList<>();
        private static final AtomicLong PACED_CALLS = new AtomicLong();
        private static final AtomicLong PACED_NANOS = new AtomicLong();
        private static volatile boolean isPacing;

        private Own() {}

        /** Calls of a known length by a known number of threads; returns calls, time in them, and time altogether. */
        static String steady(int threads, int millis, int calls) throws InterruptedException {
            AtomicLong nanos = new AtomicLong();
            AtomicLong longest = new AtomicLong();
            List<Thread> all = new ArrayList<>();
            long before = System.nanoTime();
            for (int i = 0; i < threads; i++) {
                Thread thread = new Thread(() -> {
                    for (int call = 0; call < calls; call++) {
                        long start = System.nanoTime();
                        pacedQuietly(millis);
                        long length = System.nanoTime() - start;
                        nanos.addAndGet(length);
                        longest.accumulateAndGet(length, Math::max);
                    }
                });
                thread.start();
                all.add(thread);
            }
            for (Thread thread : all) {
                thread.join();
            }
            return threads * calls + " " + nanos + " " + (System.nanoTime() - before) + " " + longest;
        }

        /** Starts threads that make the same calls until {@link #end}. */
        static String begin(int threads, int millis) {
            PACED_CALLS.set(0);
            PACED_NANOS.set(0);
            isPacing = true;
            for (int i = 0; i < threads; i++) {
                PACING.add(started(new Thread(() -> {
                    while (isPacing) {
                        long start = System.nanoTime();
                        pacedQuietly(millis);
                        PACED_NANOS.addAndGet(System.nanoTime() - start);
                        PACED_CALLS.incrementAndGet();
                    }
                })));
            }
            return Integer.toString(threads);
        }

        /** Returns the calls since {@link #begin} and the time in them, when all have ended. */
        static String end() throws InterruptedException {
            isPacing = false;
            for (Thread thread : PACING) {
                thread.join();
            }
            PACING.clear();
            return PACED_CALLS + " " + PACED_NANOS;
        }

        private static void pacedQuietly(int millis) {
            try {
                paced(millis);
            } catch (InterruptedException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }

        static String fail(int calls) {
            int caught = 0;
            for (int i = 0; i < calls; i++) {
                try {
                    failing();
                } catch (IllegalStateException wanted) {
                    caught++;
                }
            }
            return Integer.toString(caught);
        }

        /** Tells the processor time that the JVM's own counter saw. */
        static String burn(int millis) {
            ThreadMXBean threads = ManagementFactory.getThreadMXBean();
            long before = threads.getCurrentThreadCpuTime();
            burning(millis * 1_000_000L, threads);
            return Long.toString(threads.getCurrentThreadCpuTime() - before);
        }

        static String allocate(int arrays, int bytes) {
            for (int i = 0; i < arrays; i++) {
                allocating(bytes);
            }
            return Long.toString((long) arrays * (bytes + 16));
        }

        static String hold(int threads, boolean virtual) throws Exception {
            if (HOLDING.isEmpty()) {
                release = new CountDownLatch(1);
            }
            CountDownLatch inside = new CountDownLatch(threads);
            CountDownLatch until = release;
            for (int i = 0; i < threads; i++) {
                Runnable body = () -> {
                    try {
                        held(inside, until);
                    } catch (InterruptedException unexpected) {
                        throw new IllegalStateException(unexpected);
                    }
                };
                HOLDING.add(virtual ? startVirtual(body) : started(new Thread(body)));
            }
            inside.await();
            return Integer.toString(threads);
        }

        private static Thread started(Thread thread) {
            thread.start();
            return thread;
        }

        /** By reflection: this class is compiled for older JDKs, too. */
        private static Thread startVirtual(Runnable body) throws ReflectiveOperationException {
            return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, body);
        }

        static String release() throws InterruptedException {
            release.countDown();
            for (Thread thread : HOLDING) {
                thread.join();
            }
            int ended = HOLDING.size();
            HOLDING.clear();
            return Integer.toString(ended);
        }

        /** Sends so many bytes through a socket to itself. */
        static String talk(int bytes) throws IOException, InterruptedException {
            try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                    Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
                    Socket accepted = server.accept()) {
                Thread sender = new Thread(() -> {
                    try {
                        client.getOutputStream().write(new byte[bytes]);
                        client.shutdownOutput();
                    } catch (IOException e) {
                        throw new IllegalStateException(e);
                    }
                });
                sender.start();
                InputStream input = accepted.getInputStream();
                long read = 0;
                byte[] part = new byte[4096];
                for (int count = input.read(part); count > 0; count = input.read(part)) {
                    read += count;
                }
                sender.join();
                return Long.toString(read);
            }
        }
    }
}
