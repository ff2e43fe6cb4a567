package com.machin;

import java.instr.Target;
import java.instr.Template;

/** Puts a {@link RealTimer} around a method. */
final class Timing {
    private Timing() {}

    /** The simple form: an exception leaves the timer without its end. */
    @Template(name = "real-timer", requires = "com.machin.RealTimer")
    static void realTimer() throws Throwable {
        RealTimer timer = new RealTimer(Target.qualifiedName());
        Target.proceed();
        timer.end();
    }

    /** The full form, with class and method apart. */
    @Template(name = "safe-timer", requires = "com.machin.RealTimer")
    static void safeTimer() throws Throwable {
        RealTimer timer = new RealTimer(Target.className(), Target.methodName());
        try {
            Target.proceed();
        } finally {
            timer.end();
        }
    }
}
