package targets;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Works the collections and threads of the JDK, which were loaded long before this class. */
public final class JdkClasses {

    static final int PUTS = 2_000;
    static final int THREADS = 3;

    private JdkClasses() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("maps " + maps());
        System.out.println("concurrent " + concurrent());
        System.out.println("threads " + threads());
        System.out.println("pool " + pool());
        System.out.println("streams " + streams());
        System.out.println("others " + others());
    }

    private static long maps() {
        Map<String, Integer> map = new HashMap<>();
        for (int i = 0; i < PUTS; i++) {
            map.put("key" + i % 500, i);
        }
        map.remove("key7");
        long sum = 0;
        for (Map.Entry<String, Integer> entry : map.entrySet()) {
            sum += entry.getKey().hashCode() ^ entry.getValue();
        }
        return sum + map.computeIfAbsent("new", String::length);
    }

    private static long concurrent() throws InterruptedException {
        ConcurrentHashMap<Integer, Long> map = new ConcurrentHashMap<>();
        CountDownLatch done = new CountDownLatch(THREADS);
        for (int t = 0; t < THREADS; t++) {
            int offset = t;
            new Thread(() -> {
                for (int i = 0; i < PUTS; i++) {
                    map.put(i * THREADS + offset, (long) i);
                    map.merge(-1, 1L, Long::sum);
                }
                done.countDown();
            }, "puts-" + t).start();
        }
        done.await();
        return map.reduceValuesToLong(Long.MAX_VALUE, Long::longValue, 0, Long::sum) + map.size();
    }

    private static String threads() throws InterruptedException {
        StringBuffer names = new StringBuffer();
        for (int i = 0; i < THREADS; i++) {
            Thread thread = new Thread(() -> names.append(Thread.currentThread().getName()).append(' '));
            thread.setName("named-" + i);
            thread.setDaemon(true);
            thread.start();
            thread.join();
            names.append(thread.isAlive()).append(thread.isDaemon()).append(' ');
        }
        Thread failing = new Thread(() -> {
            throw new IllegalArgumentException("thrown out of run");
        });
        failing.setUncaughtExceptionHandler((thread, thrown) -> names.append(thrown.getMessage()));
        failing.start();
        failing.join();
        return names.toString();
    }

    private static long pool() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(THREADS);
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            int n = i;
            results.add(pool.submit(() -> IntStream.rangeClosed(0, n).asLongStream().sum()));
        }
        long sum = 0;
        for (Future<Long> result : results) {
            sum += result.get();
        }
        pool.shutdown();
        return sum;
    }

    private static String streams() {
        return IntStream.range(0, 200)
                .boxed()
                .collect(Collectors.groupingBy(i -> i % 7, TreeMap::new, Collectors.summingInt(i -> i)))
                .toString();
    }

    private static String others() {
        List<Integer> list = new ArrayList<>();
        PriorityQueue<Integer> queue = new PriorityQueue<>(Collections.reverseOrder());
        for (int i = 0; i < 100; i++) {
            list.add(i * 37 % 101);
            queue.add(i * 53 % 97);
        }
        Collections.sort(list);
        Map<Object, Object> ordered = new LinkedHashMap<>();
        ordered.put(list.get(3), queue.poll());
        ordered.put(Optional.of(list.indexOf(42)), String.format("%05.2f|%x", 3.14159, queue.size()));
        try {
            list.get(1_000);
        } catch (IndexOutOfBoundsException expected) {
            ordered.put("thrown", expected.getMessage());
        }
        return ordered.toString();
    }
}
