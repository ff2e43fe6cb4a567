package templates;

import java.instr.Target;
import java.instr.Template;
import probe.Log;

/** A template whose probe fails when the target is left. */
final class Failing {
    private Failing() {}

    @Template(name = "failing", requires = "probe.Log")
    static void failing() throws Throwable {
        Log.enter(Target.id());
        try {
            Target.proceed();
        } finally {
            Log.exitAndThrow(Target.id());
        }
    }
}
