package java.instr;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import jdk.internal.vm.annotation.DontInline;

/**
 * The clock of all probes: the processor's time stamp counter where the agent trusts it, else {@link System#nanoTime()}. Only
 * the agent knows the unit. The counter is read by a function of the agent that compiled code calls directly, as it calls the
 * JVM's own clock, without a transition into native code (decision 018).
 */
final class Clock {
    /** Enough for method handle and this class to be compiled in their final form, long before the first probe. */
    private static final int WARM_UPS = 10_000;

    private static final long READER = reader();
    private static final MethodHandle READING = READER == 0L ? null : reading();
    private static final boolean COUNTS_TICKS = READING != null;

    private Clock() {}

    /** The address of the function that reads the counter; 0 if that is not to be used. */
    private static native long reader();

    /** Calls the function whose address it is given; null if this JVM has no way to do that. */
    private static native MethodHandle reading();

    /** The same reading with a transition. */
    private static native long read();

    /** For the way of JDK 17, which wants to know what to do where the code is not compiled. */
    static MethodHandle otherwise() throws ReflectiveOperationException {
        MethodType type = MethodType.methodType(long.class, long.class);
        return MethodHandles.lookup().findStatic(Clock.class, "readElse", type);
    }

    private static long readElse(long reader) {
        return read();
    }

    /** The present moment, for the end of a call: there is one place for all methods. */
    static long now() {
        return COUNTS_TICKS ? ticks() : System.nanoTime();
    }

    /** The present moment, for the start of a call. Inlined into every probed method, so the method handle is kept out of line. */
    static long start() {
        return COUNTS_TICKS ? ticksFromAfar() : System.nanoTime();
    }

    @DontInline
    private static long ticksFromAfar() {
        return ticks();
    }

    private static long ticks() {
        try {
            return (long) READING.invokeExact(READER);
        } catch (Throwable noStack) {
            return read();
        }
    }

    /** A method handle is specialised after some calls; no probe is to do that. */
    static void warmUp() {
        for (int i = 0; COUNTS_TICKS && i < WARM_UPS; i++) ticksFromAfar();
    }
}
