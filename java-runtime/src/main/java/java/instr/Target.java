package java.instr;

/**
 * What a template can ask about the method that it is merged into. The calls are replaced when the template is merged;
 * none of them is ever executed.
 */
public final class Target {
    private Target() {}

    private static Error notMerged() {
        return new IllegalStateError();
    }

    /** The body of the selected method. Exactly once in a template, with nothing on the operand stack. */
    public static void proceed() throws Throwable {
        throw notMerged();
    }

    /** The number under which calls of this method are recorded. */
    public static int id() {
        throw notMerged();
    }

    /** Binary name of the method's class, e.g. {@code com.acme.Order$Line}. */
    public static String className() {
        throw notMerged();
    }

    /** The method's name. */
    public static String methodName() {
        throw notMerged();
    }

    /** The method's descriptor, e.g. {@code (ILjava/lang/String;)V}. */
    public static String methodDescriptor() {
        throw notMerged();
    }

    /** Class and method in one string, e.g. {@code com.acme.Order$Line.total}. */
    public static String qualifiedName() {
        throw notMerged();
    }

    /** The receiver; null in a static method. Not for constructors. */
    public static Object self() {
        throw notMerged();
    }

    /** The argument at a constant index from 0, boxed if primitive, as it was when the method was called. */
    public static Object arg(int index) {
        throw notMerged();
    }

    /** All arguments, as they were when the method was called. */
    public static Object[] args() {
        throw notMerged();
    }

    /** The result, boxed if primitive; null for void, before the method has returned, and if it threw. */
    public static Object result() {
        throw notMerged();
    }

    /** What the method threw; null if it returned or has not ended yet. */
    public static Throwable thrown() {
        throw notMerged();
    }

    /**
     * The values that the rule chooses with {@code arguments} and {@code result}, boxed only where the template calls this; null if
     * there are none. Arguments are as they were when the method was called. The result is null before the method has returned,
     * and if it threw.
     */
    public static Object[] captured() {
        throw notMerged();
    }

    /** How {@link #captured()} is shown, for {@link Arguments}; null if there is nothing to show. */
    public static String captureForm() {
        throw notMerged();
    }

    private static final class IllegalStateError extends Error {
        private static final long serialVersionUID = 1;

        IllegalStateError() {
            super("java.instr.Target is only for templates that are merged by instr");
        }
    }
}
