package templates;

import java.instr.Target;
import java.instr.Template;
import probe.Stopwatch;

/** Templates that make an object per call. */
final class Timers {
    private Timers() {}

    @Template(name = "stopwatch", requires = "probe.Stopwatch")
    static void stopwatch() throws Throwable {
        Stopwatch watch = new Stopwatch(Target.methodName());
        try {
            Target.proceed();
        } finally {
            watch.end();
        }
    }

    /** Without a handler: before every return only. */
    @Template(name = "stopwatch-returns", requires = "probe.Stopwatch")
    static void returns() throws Throwable {
        Stopwatch watch = new Stopwatch(Target.methodName());
        Target.proceed();
        watch.end();
    }
}
