package targets;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.locks.LockSupport;

/** A loop that runs until it is asked to return, in a class that has another method; answers lines on standard input. */
public final class MainLoop {

    private MainLoop() {}

    /** With an argument the loop mostly sleeps. */
    public static void main(String[] arguments) throws Exception {
        Spinner.sleeps = arguments.length > 0;
        Thread thread = new Thread(Spinner::spin, "spinner");
        thread.start();
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "passes":
                    System.out.println("passes " + passes(Long.parseLong(words[1])));
                    break;
                case "help":
                    System.out.println("sum " + Spinner.help(Integer.parseInt(words[1])));
                    break;
                case "return":
                    Spinner.goesOn = false;
                    thread.join();
                    System.out.println("returned");
                    break;
                case "quit":
                    Spinner.goesOn = false;
                    return;
                default:
                    System.out.println("? " + line);
            }
        }
    }

    /** Passes of the loop in a millisecond of its processor time, over so many milliseconds. */
    private static long passes(long millis) throws InterruptedException {
        long before = Spinner.passes;
        long start = Spinner.cpuMillis();
        while (Spinner.cpuMillis() - start < millis) {
            Thread.sleep(5);
        }
        return (Spinner.passes - before) / (Spinner.cpuMillis() - start);
    }

    static final class Spinner {

        static volatile boolean goesOn = true;
        static volatile long passes;
        static boolean sleeps;
        private static volatile long thread;

        private Spinner() {}

        static void spin() {
            thread = Thread.currentThread().getId();
            long sum = 0;
            while (goesOn) {
                for (int i = 0; i < 10_000; i++) {
                    sum = sum * 31 + (i ^ sum >>> 7);
                }
                passes = passes + (sum == 42 ? 2 : 1);
                if (sleeps && passes % 100 == 0) {
                    LockSupport.parkNanos(20_000_000);
                }
            }
        }

        static long help(int times) {
            long sum = 0;
            for (int i = 0; i < times; i++) {
                sum += step(i);
            }
            return sum;
        }

        private static long step(int i) {
            return (long) i * i % 7;
        }

        static long cpuMillis() {
            return java.lang.management.ManagementFactory.getThreadMXBean().getThreadCpuTime(thread) / 1_000_000;
        }
    }
}
