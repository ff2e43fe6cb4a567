package targets.diagnosis;

import java.io.IOException;

/**
 * A known graph of calls, five levels deep. {@link #pay} and {@link #browse} share a service; of both one call in four takes 30 ms instead of 3, each
 * in a branch of its own: {@code pay > handle > price > discounts > lookup > }a {@link SlowWays way} to be slow, and {@code browse > handle > suggest}. Answers the lines
 * of {@link CallLoop}, and {@code way NAME}.
 */
public final class SlowBranch {

    private static final int PAY = 0;
    private static final int BROWSE = 1;
    private static final long BRIEF = 500_000;

    private static final String[] NODES = {"handle", "price", "discounts", "lookup", "suggest", "way"};
    private static final int HANDLE = 0;
    private static final int PRICE = 1;
    private static final int DISCOUNTS = 2;
    private static final int LOOKUP = 3;
    private static final int SUGGEST = 4;
    private static final int WAY = 5;

    private static volatile String way = "park";

    private SlowBranch() {}

    public static void main(String[] arguments) throws IOException {
        CallTruth[] truths = {new CallTruth("pay", NODES), new CallTruth("browse", NODES)};
        // Afterwards every class is loaded and linked.
        for (String one : SlowWays.NAMES) {
            way = one;
            pay(CallLoop.trial(PAY, truths[PAY], 0, true));
        }
        browse(CallLoop.trial(BROWSE, truths[BROWSE], 0, true));
        way = SlowWays.NAMES[0];
        CallLoop.run(new CallLoop.Root[] {SlowBranch::pay, SlowBranch::browse}, truths, SlowBranch::answer);
    }

    private static String answer(String line) {
        if (!line.startsWith("way ")) {
            return "? " + line;
        }
        way = line.substring("way ".length());
        return "ok";
    }

    static void pay(RootCall call) {
        long start = System.nanoTime();
        Service.handle(call);
        call.took(HANDLE, start);
    }

    static void browse(RootCall call) {
        long start = System.nanoTime();
        Service.handle(call);
        call.took(HANDLE, start);
    }

    /** For diagnoses of a method that is not called. */
    static void refund(RootCall call) {
        Service.handle(call);
    }

    /** What both roots call. */
    static final class Service {

        private Service() {}

        static void handle(RootCall call) {
            check(call);
            long start = System.nanoTime();
            price(call, call.slow && call.root == PAY);
            call.took(PRICE, start);
            start = System.nanoTime();
            suggest(call.slow && call.root == BROWSE);
            call.took(SUGGEST, start);
            note(call);
        }

        private static void check(RootCall call) {
            if (call.number < 0) {
                throw new IllegalArgumentException(call.toString());
            }
            Pauses.park(BRIEF);
        }

        private static void price(RootCall call, boolean isSlow) {
            base(call);
            long start = System.nanoTime();
            discounts(call, isSlow);
            call.took(DISCOUNTS, start);
        }

        private static void suggest(boolean isSlow) {
            Pauses.park(isSlow ? SlowWays.NANOS : BRIEF);
        }

        private static void note(RootCall call) {
            base(call);
        }

        private static void base(RootCall call) {
            Pauses.park(call.number % 2 == 0 ? BRIEF : BRIEF / 2);
        }

        private static void discounts(RootCall call, boolean isSlow) {
            base(call);
            long start = System.nanoTime();
            lookup(call, isSlow);
            call.took(LOOKUP, start);
        }

        private static void lookup(RootCall call, boolean isSlow) {
            if (!isSlow) {
                base(call);
                return;
            }
            long start = System.nanoTime();
            SlowWays.slow(way, call);
            call.took(WAY, start);
        }
    }
}
