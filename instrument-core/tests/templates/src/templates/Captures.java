package templates;

import java.instr.Target;
import java.instr.Template;
import probe.Log;

/** Templates that take the values which a rule chooses. */
final class Captures {
    private Captures() {}

    @Template(name = "captures", requires = "probe.Log")
    static void captures() throws Throwable {
        long start = System.nanoTime();
        try {
            Target.proceed();
        } finally {
            if (System.nanoTime() - start >= 0) {
                Object[] values = null;
                try {
                    values = Target.captured();
                } catch (Throwable noMemory) {
                    Log.note("no memory");
                }
                Log.captured(values, Target.captureForm());
            }
        }
    }

    /** Before and after the target, without any branch; and an argument of its own. */
    @Template(name = "captures-straight", requires = "probe.Log")
    static void straight() throws Throwable {
        Log.captured(Target.captured(), "before");
        Target.proceed();
        Log.captured(Target.captured(), Target.captureForm());
    }
}
