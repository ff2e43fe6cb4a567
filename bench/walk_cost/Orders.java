import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.LongAdder;

/** Two threads serve requests through some twenty methods; {@code Prices.discount} uses most of the time. Answers each line with the requests until now and the processor time in nanoseconds. */
public final class Orders {

    private static final int THREADS = 2;
    private static final LongAdder SERVED = new LongAdder();

    private Orders() {}

    public static void main(String[] arguments) throws Exception {
        com.sun.management.OperatingSystemMXBean process = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        for (int number = 0; number < THREADS; number++) {
            Thread thread = new Thread(new Loop(number), "worker " + number);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            System.out.println(SERVED.sum() + " " + process.getProcessCpuTime());
        }
    }

    /** A class of its own: one whose frame stays is not changed. */
    static final class Loop implements Runnable {
        private final Service service;

        Loop(int seed) {
            service = new Service(seed);
        }

        @Override
        public void run() {
            while (true) {
                service.serve();
                SERVED.increment();
            }
        }
    }

    static final class Service {
        private final Prices prices = new Prices();
        private final Stock stock = new Stock();
        private int request;
        private long sum;

        Service(int seed) {
            request = seed;
        }

        void serve() {
            request = request * 1_103_515_245 + 12_345;
            switch (request >>> 16 & 3) {
                case 0: sum += report(request); break;
                case 1: sum += export(request); break;
                default: sum += checkout(request);
            }
        }

        long checkout(int order) {
            return validate(order) + total(order) + stock.reserve(order);
        }

        long validate(int order) {
            return stock.find(order) & 7;
        }

        long total(int order) {
            long total = 0;
            for (int line = 0; line < 4; line++) total += prices.of(order + line);
            return total;
        }

        long report(int order) {
            long total = 0;
            for (int day = 0; day < 8; day++) total += month(order + day);
            return total;
        }

        long month(int order) {
            return prices.discount(order, 60);
        }

        long export(int order) {
            return row(order) + stock.find(order);
        }

        long row(int order) {
            return prices.of(order) + format(order);
        }

        long format(int order) {
            long hash = order;
            for (int i = 0; i < 300; i++) hash = hash * 31 + (i ^ hash >>> 9);
            return hash;
        }
    }

    static final class Prices {
        long of(int item) {
            return discount(item, 120) + base(item);
        }

        long base(int item) {
            return item & 1_023;
        }

        long discount(int item, int steps) {
            long value = item;
            for (int i = 0; i < steps * 8; i++) value = value * 31 + (i ^ value >>> 7);
            return value;
        }
    }

    static final class Stock {
        private final long[] left = new long[1 << 12];

        long find(int item) {
            return left[slot(item)];
        }

        int slot(int item) {
            return (item ^ item >>> 15) & left.length - 1;
        }

        long reserve(int item) {
            return --left[slot(item)];
        }
    }
}
