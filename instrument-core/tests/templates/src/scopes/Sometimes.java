package scopes;

import java.instr.Target;
import java.instr.Template;

/** One way to the target does not set the scope. */
final class Sometimes {
    private Sometimes() {}

    @Template
    static void template() throws Throwable {
        if (Target.id() > 0) {
            long scope = Target.scope(System.nanoTime());
            Math.abs(scope);
        }
        Target.proceed();
    }
}
