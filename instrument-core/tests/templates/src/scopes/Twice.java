package scopes;

import java.instr.Target;
import java.instr.Template;

/** Two scopes. */
final class Twice {
    private Twice() {}

    @Template
    static void template() throws Throwable {
        long scope = Target.scope(System.nanoTime());
        long other = Target.scope(System.nanoTime());
        Target.proceed();
        Math.abs(scope + other);
    }
}
