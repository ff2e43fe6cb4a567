package scopes;

import java.instr.Target;
import java.instr.Template;

/** The scope is assigned again. */
final class Changed {
    private Changed() {}

    @Template
    static void template() throws Throwable {
        long scope = Target.scope(System.nanoTime());
        scope++;
        Target.proceed();
        Math.abs(scope);
    }
}
