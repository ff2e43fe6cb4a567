package probe;

import java.util.ArrayDeque;
import java.util.Deque;

/** Call sites that note each begin as "enter" and each end, by whatever way, as "exit", and whatever must not be as "fault". */
public final class Sites {
    private static final int NONE = -1;
    private static final Deque<Call> CALLS = new ArrayDeque<>();
    private static long next = 1;

    private Sites() {}

    private static final class Call {
        final long scope = next++;
        int open = NONE;

        Call() {}
    }

    public static long enter(int id) {
        Call call = new Call();
        CALLS.push(call);
        return call.scope;
    }

    public static void begin(long scope, int site) {
        Call call = call(scope);
        // An exception whose handler covers itself leaves a site open.
        close(call, "late");
        call.open = site;
        Log.note("enter");
    }

    public static void end(long scope, int site) {
        Call call = call(scope);
        if (call.open != site) {
            Log.note("fault:end-of-" + site + "-in-" + call.open + " enter");
        }
        close(call, "ended");
    }

    public static void caught(long scope) {
        needStack(100);
        close(call(scope), "caught");
    }

    /** Near the end of the stack this throws where the call that has just failed would have gone on. */
    private static int needStack(int frames) {
        return frames == 0 ? 0 : needStack(frames - 1) + 1;
    }

    public static void exit(long scope, int id) {
        close(call(scope), "left");
        CALLS.pop();
    }

    /** The end of a call of which only the depth is known. */
    public static void leave(int depth) {
        close(CALLS.pop(), "left");
    }

    /** The call of this scope; those within it are over, constructors that have thrown before super() among them. */
    private static Call call(long scope) {
        while (!CALLS.isEmpty() && CALLS.peek().scope != scope) {
            close(CALLS.pop(), "lost");
        }
        if (CALLS.isEmpty()) {
            Log.note("fault:no-call-" + scope + " enter");
            CALLS.push(new Call());
        }
        return CALLS.peek();
    }

    private static void close(Call call, String how) {
        if (call.open != NONE) {
            call.open = NONE;
            Log.note(how + " exit");
        }
    }
}
