package templates;

import java.instr.Target;
import java.instr.Template;
import probe.Log;

/** Compiled for Java 11, so that string concatenation is an {@code invokedynamic}. */
final class Modern {
    private Modern() {}

    @Template(name = "concatenation", requires = "probe.Log")
    static void concatenation() throws Throwable {
        String name = Target.methodName();
        int id = Target.id();
        Log.note("in-" + name + "-" + (id < 0));
        Target.proceed();
        Log.note("out-" + name + "-" + (id < 0));
        Log.note("again-" + name);
    }
}
