import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;

/** Does a number of units of work for each line of the standard input, and says so when they are done. */
final class Measured {

    /** One unit of work; its result goes into a sum that must be the same in each run. */
    interface Work {
        long unit(int number) throws Exception;
    }

    private Measured() {}

    static void run(Work work) throws Exception {
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        long sum = 0;
        int number = 0;
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            sum = units(work, number, Integer.parseInt(order), sum);
            number += Integer.parseInt(order);
            System.out.println("DONE " + sum);
            System.out.flush();
        }
    }

    private static long units(Work work, int first, int count, long before) throws Exception {
        long sum = before;
        for (int i = first; i < first + count; i++) {
            sum += work.unit(i);
        }
        return sum;
    }
}
