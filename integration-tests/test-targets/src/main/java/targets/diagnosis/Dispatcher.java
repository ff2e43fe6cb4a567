package targets.diagnosis;

import java.io.IOException;

/** Calls other components, some much more often than others; what makes slow calls slow is called least. Answers the lines of {@link CallLoop}. */
public final class Dispatcher {

    /** Calls in each call of {@link #dispatch}. */
    private static final int OFTEN = 40;
    private static final int SOMETIMES = 5;
    private static final int ALWAYS = 20_000;
    private static final long SLOW = 20_000_000;
    private static final long BRIEF = 50_000;

    private static int mixed;

    private Dispatcher() {}

    public static void main(String[] arguments) throws IOException {
        CallTruth truth = new CallTruth("dispatch");
        dispatch(CallLoop.trial(0, truth, 0, true));
        CallLoop.run(new CallLoop.Root[] {Dispatcher::dispatch}, new CallTruth[] {truth}, line -> "? " + line);
    }

    static void dispatch(RootCall call) {
        Component sometimes = Dispatcher::sometimes;
        for (int i = 0; i < SOMETIMES; i++) {
            sometimes.handle();
        }
        rarely(call.slow);
        for (int i = 0; i < OFTEN; i++) {
            often();
        }
        for (int i = 0; i < ALWAYS; i++) {
            mixed = always(mixed + i);
        }
    }

    /** So short that it is not timed. */
    private static int always(int bits) {
        int mixing = bits ^ bits << 13;
        return mixing ^ mixing >>> 17;
    }

    private static void often() {
        Pauses.park(BRIEF);
    }

    private static void sometimes() {
        Pauses.park(BRIEF);
    }

    private static void rarely(boolean isSlow) {
        Pauses.park(isSlow ? SLOW : BRIEF);
    }

    /** What is called. */
    private interface Component {
        void handle();
    }
}
