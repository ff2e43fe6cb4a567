import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * The same amount of ordinary work each time, on two threads: text, maps, sorting, at a depth of twelve calls. Prints
 * the nanoseconds of processor time of the whole process from the end of a first, warming run.
 */
public final class Work {

    private static volatile long sink;

    private Work() {}

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        onTwoThreads(rounds / 4);
        long before = processNanos();
        onTwoThreads(rounds);
        System.out.println("CPU " + (processNanos() - before));
    }

    private static void onTwoThreads(int rounds) throws Exception {
        Thread[] threads = {new Thread(() -> work(rounds, 1)), new Thread(() -> work(rounds, 2))};
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void work(int rounds, long seed) {
        Random random = new Random(seed);
        for (int round = 0; round < rounds; round++) {
            sink += nested(random, 12);
        }
    }

    private static long nested(Random random, int depth) {
        return depth > 0 ? nested(random, depth - 1) + 1 : words(random) + sorted(random);
    }

    private static long words(Random random) {
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < 2_000; i++) {
            counts.merge("word-" + Integer.toHexString(random.nextInt(500)), 1, Integer::sum);
        }
        long sum = 0;
        for (Map.Entry<String, Integer> entry : counts.entrySet()) {
            sum += entry.getKey().hashCode() * (long) entry.getValue();
        }
        return sum;
    }

    private static long sorted(Random random) {
        List<Long> numbers = new ArrayList<>();
        for (int i = 0; i < 3_000; i++) {
            numbers.add(random.nextLong());
        }
        Collections.sort(numbers);
        return numbers.get(17);
    }

    private static long processNanos() {
        return ProcessHandle.current().info().totalCpuDuration().get().toNanos();
    }
}
