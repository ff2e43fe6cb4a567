package io.instr.jvmtests.jvm;

import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Predicate;

/** Waits for a condition instead of a length of time, so that the pace of the machine does not matter. */
public final class Awaiting {

    private static final long PAUSE_NANOS = 5_000_000;

    private Awaiting() {}

    /** Returns the first answer that is as wanted; fails with the last one only after {@link JvmProcess#LIMIT}. */
    public static <T> T await(Callable<T> question, Predicate<T> wanted) {
        long deadline = System.nanoTime() + JvmProcess.LIMIT.toNanos();
        T answer = answer(question);
        while (!wanted.test(answer)) {
            if (System.nanoTime() > deadline) {
                throw new AssertionError("not what was expected within " + JvmProcess.LIMIT + ": " + answer);
            }
            LockSupport.parkNanos(PAUSE_NANOS);
            answer = answer(question);
        }
        return answer;
    }

    private static <T> T answer(Callable<T> question) {
        try {
            return question.call();
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
