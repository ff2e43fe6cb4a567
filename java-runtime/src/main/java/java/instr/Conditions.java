package java.instr;

import jdk.internal.vm.annotation.DontInline;

/** Asks the agent whether the condition of a context holds for a call. */
public final class Conditions {
    private Conditions() {}

    /**
     * Returns whether the condition of an anchor holds for a call.
     *
     * @param anchor the number of the anchor, {@link Target#id()}
     * @param self the receiver; null in a static method and in a constructor
     * @param arguments the arguments of the call
     * @return false also if the condition cannot be evaluated
     */
    @DontInline
    public static boolean hold(int anchor, Object self, Object[] arguments) {
        return evaluate(anchor, self, arguments);
    }

    /** Evaluates the condition. Throws nothing; a thread that is evaluating one evaluates no other. */
    private static native boolean evaluate(int anchor, Object self, Object[] arguments);
}
