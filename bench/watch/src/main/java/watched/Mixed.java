package watched;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Three threads with files, locks, sleep, recursion, garbage, and one that does the same thing each millisecond. */
public final class Mixed {

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static long shared;

    private Mixed() {}

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        Thread[] threads = {
            new Thread(() -> files(rounds), "files"),
            new Thread(() -> computations(rounds), "computations"),
            new Thread(() -> periods(rounds * 4), "periods"),
        };
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println("RESULT " + shared);
    }

    private static void files(int rounds) {
        try {
            Path path = Files.createTempFile("watched", ".bin");
            try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
                byte[] block = new byte[1 << 16];
                for (int round = 0; round < rounds; round++) {
                    write(file, block, round);
                    read(file, block, round);
                    locked(20_000);
                    if (round % 8 == 0) nap();
                }
            } finally {
                Files.delete(path);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void write(RandomAccessFile file, byte[] block, int round) throws IOException {
        file.seek((round % 64L) << 16);
        file.write(block);
    }

    private static void read(RandomAccessFile file, byte[] block, int round) throws IOException {
        file.seek((round % 7L) << 16);
        file.readFully(block);
    }

    private static void locked(int steps) {
        LOCK.lock();
        try {
            for (int i = 0; i < steps; i++) shared += i ^ shared >> 3;
        } finally {
            LOCK.unlock();
        }
    }

    private static void nap() {
        LockSupport.parkNanos(1_500_000);
    }

    private static void computations(int rounds) {
        for (int round = 0; round < rounds; round++) {
            locked(5_000);
            sorted(round);
            if (fibonacci(14) < 0) throw new IllegalStateException();
            garbage(round);
        }
    }

    private static void sorted(int seed) {
        long[] numbers = new long[4_000];
        long number = seed + 1;
        for (int i = 0; i < numbers.length; i++) {
            number = number * 6364136223846793005L + 1442695040888963407L;
            numbers[i] = number >>> 20;
        }
        Arrays.sort(numbers);
        shared += numbers[2_000] & 1;
    }

    private static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    private static void garbage(int round) {
        Object[] kept = new Object[200];
        for (int i = 0; i < 2_000; i++) kept[i % kept.length] = new byte[64 + round % 32];
        shared += kept.length;
    }

    /** One beat each millisecond of the clock: regular ticks would always meet it at the same point. */
    private static void periods(int beats) {
        long next = System.nanoTime();
        for (int beat = 0; beat < beats; beat++) {
            next += 1_000_000;
            first();
            second();
            while (System.nanoTime() < next) LockSupport.parkNanos(Math.max(1, next - System.nanoTime()));
        }
    }

    private static void first() {
        spin(60_000);
    }

    private static void second() {
        spin(120_000);
    }

    private static void spin(long nanos) {
        long end = System.nanoTime() + nanos;
        while (System.nanoTime() < end) Thread.onSpinWait();
    }
}
