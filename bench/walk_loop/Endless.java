import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;

/** A loop that does not end, and the small hot method that it calls by way of two others, in one class. Answers each line with the turns until now and the processor time in nanoseconds. */
public final class Endless {

    private static final int TURNS = 1_000;
    private static volatile long turns;
    private static long sum;

    private Endless() {}

    public static void main(String[] arguments) throws Exception {
        com.sun.management.OperatingSystemMXBean process = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        Thread thread = new Thread(Endless::loop, "loop");
        thread.setDaemon(true);
        thread.start();
        System.out.println("ready");
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        while (lines.readLine() != null) {
            System.out.println(turns + " " + process.getProcessCpuTime());
        }
    }

    private static void loop() {
        for (int number = 0; ; number++) {
            for (int turn = 0; turn < TURNS; turn++) {
                sum += (turn & 3) == 0 ? seldom(number + turn) : often(number ^ turn);
            }
            turns = turns + 1;
        }
    }

    private static long often(int value) {
        return mixed(value) + 1;
    }

    private static long seldom(int value) {
        return mixed(value) ^ mixed(value + 1);
    }

    private static long mixed(long value) {
        long mixed = value;
        for (int round = 0; round < 20; round++) {
            mixed = (mixed ^ mixed >>> 33) * 0xff51afd7ed558ccdL;
        }
        return mixed;
    }
}
