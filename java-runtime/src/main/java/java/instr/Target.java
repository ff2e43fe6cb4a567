package java.instr;

/**
 * What a template can read of the method that it is merged into. The calls are replaced when the template is merged;
 * none of them is ever executed.
 */
public final class Target {
    private Target() {}

    private static Error notMerged() {
        return new IllegalStateError();
    }

    /**
     * Runs the body of the selected method. Exactly once in a template, as a statement of its own.
     *
     * @throws Throwable whatever the body throws
     */
    public static void proceed() throws Throwable {
        throw notMerged();
    }

    /**
     * Returns the number under which calls of this method are recorded.
     *
     * @return the number of the probe
     */
    public static int id() {
        throw notMerged();
    }

    /**
     * Returns the binary name of the method's class, e.g. {@code com.acme.Order$Line}.
     *
     * @return the name of the class
     */
    public static String className() {
        throw notMerged();
    }

    /**
     * Returns the name of the method.
     *
     * @return the name without class and parameters
     */
    public static String methodName() {
        throw notMerged();
    }

    /**
     * Returns the descriptor of the method, e.g. {@code (ILjava/lang/String;)V}.
     *
     * @return the descriptor
     */
    public static String methodDescriptor() {
        throw notMerged();
    }

    /**
     * Returns class and method in one string, e.g. {@code com.acme.Order$Line.total}.
     *
     * @return the name of the method after that of its class
     */
    public static String qualifiedName() {
        throw notMerged();
    }

    /**
     * Returns the receiver. Not for constructors.
     *
     * @return the receiver; null in a static method
     */
    public static Object self() {
        throw notMerged();
    }

    /**
     * Returns an argument as it was when the method was called, boxed if primitive.
     *
     * @param index a constant, from 0
     * @return the argument
     */
    public static Object arg(int index) {
        throw notMerged();
    }

    /**
     * Returns all arguments as they were when the method was called, boxed if primitive.
     *
     * @return a new array
     */
    public static Object[] args() {
        throw notMerged();
    }

    /**
     * Returns the result, boxed if primitive. Only after {@link #proceed()}.
     *
     * @return the result; null for void and if the method threw
     */
    public static Object result() {
        throw notMerged();
    }

    /**
     * Returns what the method threw. Only after {@link #proceed()}.
     *
     * @return the exception; null if the method returned
     */
    public static Throwable thrown() {
        throw notMerged();
    }

    /**
     * Returns the values that the rule chooses with {@code arguments} and {@code result}, boxed only where the template calls this.
     * Arguments are as they were when the method was called. The result is null before the method has returned, and if it threw.
     *
     * @return the values; null if there are none
     */
    public static Object[] captured() {
        throw notMerged();
    }

    /**
     * Returns how {@link #captured()} is shown, for {@link Arguments}.
     *
     * @return names and formats; null if there is nothing to show
     */
    public static String captureForm() {
        throw notMerged();
    }

    /**
     * Gives a value back, and declares the local that it is assigned to as the scope of the method's call sites: {@code long scope =
     * Target.scope(Sites.enter(Target.id()))}. Once at most, before {@link #proceed()}. The value is the result of a static method, whose
     * class is called around each site: {@code begin(long scope, int site)} before the call, {@code end(long scope, int site)} after it, and
     * {@code caught(long scope)} where an exception handler begins that covers it. These must not throw.
     *
     * @param value the scope
     * @return the same value
     */
    public static long scope(long value) {
        throw notMerged();
    }

    private static final class IllegalStateError extends Error {
        private static final long serialVersionUID = 1;

        IllegalStateError() {
            super("java.instr.Target is only for templates that are merged by instr");
        }
    }
}
