/** Methods that do nothing but call a short one 20,000 times: what a call of each takes, by the clock, without any probe in between. */
public final class OwnTime {
    private static final int CALLS = 20_000;
    private static long sum;

    private OwnTime() {
    }

    /** Prints {@code OwnTime.METHOD NANOSECONDS}, the mean of all executions. */
    public static void main(String[] arguments) {
        int executions = Integer.parseInt(arguments[0]);
        String[] names = {"callsOfOneStep", "callsOfTwentySteps", "callsOfTwoHundredSteps"};
        for (String name : names) {
            long nanos = 0;
            for (int execution = 0; execution < executions; execution++) {
                long start = System.nanoTime();
                execute(name);
                nanos += System.nanoTime() - start;
            }
            System.out.println("OwnTime." + name + " " + nanos / executions);
        }
        System.out.println(sum == 0 ? "folded away" : "done");
    }

    private static void execute(String name) {
        switch (name) {
            case "callsOfOneStep" -> callsOfOneStep();
            case "callsOfTwentySteps" -> callsOfTwentySteps();
            default -> callsOfTwoHundredSteps();
        }
    }

    private static void callsOfOneStep() {
        for (int call = 0; call < CALLS; call++) {
            sum = steps(sum, 1);
        }
    }

    private static void callsOfTwentySteps() {
        for (int call = 0; call < CALLS; call++) {
            sum = steps(sum, 20);
        }
    }

    private static void callsOfTwoHundredSteps() {
        for (int call = 0; call < CALLS; call++) {
            sum = steps(sum, 200);
        }
    }

    /** Each step needs the result of the one before: a nanosecond or two. */
    private static long steps(long value, int count) {
        for (int step = 0; step < count; step++) {
            value = value * 6364136223846793005L + 1442695040888963407L;
        }
        return value;
    }
}
