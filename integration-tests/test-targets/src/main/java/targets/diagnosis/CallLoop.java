package targets.diagnosis;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.function.UnaryOperator;

/**
 * Calls roots in turn on two threads until the program is asked to quit; one call in four is slow. The loop is in a class of its own: nothing is
 * inserted into a class one of whose frames never returns.
 */
public final class CallLoop implements Runnable {

    private static final int THREADS = 2;
    private static final int ONE_SLOW_IN = 4;

    private final int lane;
    private final Root[] roots;
    private final CallTruth[] truths;
    private static volatile boolean goesOn = true;
    private static volatile boolean rests;

    /** A method that is called again and again. */
    public interface Root {
        void call(RootCall call);
    }

    private CallLoop(int lane, Root[] roots, CallTruth[] truths) {
        this.lane = lane;
        this.roots = roots;
        this.truths = truths;
    }

    /** A call for trying a root out, of which nothing is counted. */
    public static RootCall trial(int root, CallTruth truth, long number, boolean slow) {
        return new RootCall(root, 0, number, slow, truth.nodes());
    }

    /**
     * Starts the threads and answers lines: {@code truth} with JSON, {@code rest} and {@code go} with "ok" (no thread begins another call in
     * between), {@code quit} ends, all else is passed on.
     */
    public static void run(Root[] roots, CallTruth[] truths, UnaryOperator<String> others) throws IOException {
        for (int lane = 0; lane < THREADS; lane++) {
            Thread thread = new Thread(new CallLoop(lane, roots, truths), "calls-" + lane);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in));
        for (String line = commands.readLine(); line != null && !line.equals("quit"); line = commands.readLine()) {
            switch (line) {
                case "truth":
                    System.out.println(json(truths));
                    break;
                case "rest":
                case "go":
                    rests = line.equals("rest");
                    System.out.println("ok");
                    break;
                default:
                    System.out.println(others.apply(line));
            }
        }
        goesOn = false;
    }

    private static String json(CallTruth[] truths) {
        StringBuilder text = new StringBuilder("{");
        for (int i = 0; i < truths.length; i++) {
            text.append(i == 0 ? "" : ",").append(truths[i].json());
        }
        return text.append('}').toString();
    }

    @Override
    public void run() {
        for (long number = 0; goesOn; number++) {
            if (rests) {
                Pauses.park(1_000_000);
                continue;
            }
            for (int root = 0; root < roots.length; root++) {
                RootCall call = new RootCall(root, lane, number, number % ONE_SLOW_IN == ONE_SLOW_IN - 1, truths[root].nodes());
                long start = System.nanoTime();
                roots[root].call(call);
                truths[root].add(call, System.nanoTime() - start);
            }
        }
    }
}
