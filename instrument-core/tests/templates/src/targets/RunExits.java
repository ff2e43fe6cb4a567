package targets;

import java.util.concurrent.Callable;
import probe.Log;

/** Leaves the methods of {@link Exits} and prints how, and what the templates noted. */
final class RunExits {
    private RunExits() {}

    /** Not instrumented, so that only the stack below the target overflows. */
    static int deeper(int depth) {
        return 1 + deeper(depth + 1);
    }

    private static void show(String what, Callable<?> call) {
        String text;
        try {
            text = String.valueOf(call.call());
        } catch (Throwable thrown) {
            text = "threw " + thrown;
        }
        System.out.println("result " + what + " = " + text);
        System.out.println("events " + what + ": " + Log.drain());
    }

    /** Stops a thread inside the target; a JDK that cannot do that any more lets it go. */
    @SuppressWarnings("deprecation")
    private static String stop() throws InterruptedException {
        String[] left = {"returned"};
        Thread thread = new Thread(() -> {
            try {
                Exits.waits();
            } catch (ThreadDeath death) {
                left[0] = "stopped";
            }
        });
        thread.start();
        while (!Exits.waiting) {
            Thread.yield();
        }
        try {
            thread.stop();
        } catch (UnsupportedOperationException removed) {
            Exits.released = true;
        }
        thread.join();
        return left[0];
    }

    public static void main(String[] arguments) {
        show("returns", () -> Exits.returns(-3));
        show("throws", () -> Exits.throwsItself(5));
        show("callee", () -> Exits.calleeThrows("none"));
        show("overflow", Exits::overflows);
        show("stop", RunExits::stop);
    }
}
