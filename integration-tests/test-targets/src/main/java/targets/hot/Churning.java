package targets.hot;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Scanner;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntUnaryOperator;

/**
 * A hot method that is called by classes of loaders which are made anew again and again, and dropped, half of them as tasks of a pool. On request it prints how many loaders there have been, the metaspace in use after a
 * collection and the resident memory, in kB, and how many results were wrong.
 */
public class Churning {
    private static final int CALLS_OF_LOADER = 200;
    private static final int WORK = 4_000;
    private static final int KILO = 1_024;
    private static final ExecutorService POOL = Executors.newFixedThreadPool(1);
    private static volatile long loaders;
    private static volatile long wrong;

    public static void main(String[] arguments) throws IOException {
        Thread worker = new Thread(Worker::work, "worker");
        worker.setDaemon(true);
        worker.start();
        System.out.println("ready");
        Scanner lines = new Scanner(System.in);
        while (!lines.nextLine().equals("quit")) {
            System.gc();
            System.out.println(loaders + " " + metaspace() / KILO + " " + resident() + " " + wrong);
        }
        System.exit(0);
    }

    private static long metaspace() {
        return ManagementFactory.getMemoryPoolMXBeans().stream()
                .filter(pool -> pool.getName().equals("Metaspace"))
                .mapToLong((MemoryPoolMXBean pool) -> pool.getUsage().getUsed())
                .sum();
    }

    private static long resident() throws IOException {
        return Files.readAllLines(Path.of("/proc/self/status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("\\D", "")))
                .findFirst().orElse(0);
    }

    /** A class of its own: one whose frame stays is not changed. */
    static final class Worker {
        static void work() {
            while (true) Plugins.one();
        }
    }

    static final class Plugins {
        static void one() {
            try {
                IntUnaryOperator plugin = (IntUnaryOperator) new Fresh().define(Plugin.class.getName()).getDeclaredConstructor().newInstance();
                for (int i = 0; i < CALLS_OF_LOADER / 2; i++) check(plugin.applyAsInt(i), i);
                Future<?> others = POOL.submit(new Others(plugin));
                others.get();
                loaders++;
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }

        private static void check(int result, int argument) {
            if (result != argument + WORK) wrong++;
        }
    }

    static final class Others implements Runnable {
        private final IntUnaryOperator plugin;

        Others(IntUnaryOperator plugin) {
            this.plugin = plugin;
        }

        @Override
        public void run() {
            for (int i = 0; i < CALLS_OF_LOADER / 2; i++) Plugins.check(plugin.applyAsInt(i), i);
        }
    }

    /** Each loader has one of its own. */
    public static final class Plugin implements IntUnaryOperator {
        @Override
        public int applyAsInt(int value) {
            return Hot.hot(value);
        }
    }

    static final class Fresh extends ClassLoader {
        Fresh() {
            super(Fresh.class.getClassLoader());
        }

        Class<?> define(String name) throws IOException {
            try (InputStream file = getParent().getResourceAsStream(name.replace('.', '/') + ".class")) {
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            }
        }
    }

    public static final class Hot {
        private static volatile int sink;

        public static int hot(int value) {
            int result = value;
            for (int i = 0; i < WORK; i++) {
                sink = i;
                result++;
            }
            return result;
        }
    }
}
