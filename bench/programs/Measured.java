import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;

/** Runs a fixed number of units after a third as many to warm up, and prints the processor time of the process for each. */
final class Measured {

    /** One unit of work; its result goes into a sum that must be the same in each run. */
    interface Work {
        long unit(int number) throws Exception;
    }

    private static final OperatingSystemMXBean SYSTEM = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private Measured() {}

    static void run(int units, Work work) throws Exception {
        long sum = 0;
        for (int i = 0; i < units / 3; i++) {
            sum += work.unit(i);
        }
        long before = SYSTEM.getProcessCpuTime();
        for (int i = 0; i < units; i++) {
            sum += work.unit(i);
        }
        long used = SYSTEM.getProcessCpuTime() - before;
        System.out.println("FIGURE cpu-us-a-unit " + used / 1e3 / units);
        System.out.println("SUM " + sum);
    }
}
