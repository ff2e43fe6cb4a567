package targets.diagnosis;

import framework.Chain;
import java.io.IOException;

/**
 * Slow calls lead through twenty methods of a framework: {@code serve > Chain > Store.find > Chain > read}. One call in four is slow in {@code read}; after
 * {@code between} also in the middle of the first chain. Answers the lines of {@link CallLoop}.
 */
public final class LongWay {

    private static final long AT_THE_END = 20_000_000;
    private static final long BETWEEN = 15_000_000;
    private static final long BRIEF = 500_000;

    private static volatile boolean isSlowBetween;

    private LongWay() {}

    public static void main(String[] arguments) throws IOException {
        CallTruth truth = new CallTruth("serve");
        serve(CallLoop.trial(0, truth, 0, true));
        CallLoop.run(new CallLoop.Root[] {LongWay::serve}, new CallTruth[] {truth}, LongWay::answer);
    }

    private static String answer(String line) {
        isSlowBetween = line.equals("between");
        return "ok";
    }

    static void serve(RootCall call) {
        Chain.through(() -> Store.find(call), call.slow && isSlowBetween ? BETWEEN : 0);
    }

    static void read(RootCall call) {
        Pauses.park(call.slow ? AT_THE_END : BRIEF);
    }

    /** A class of the application between two parts of the framework. */
    static final class Store {

        private Store() {}

        static void find(RootCall call) {
            Chain.through(() -> read(call), 0);
        }
    }
}
