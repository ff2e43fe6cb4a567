package scopes;

import java.instr.Target;
import java.instr.Template;

/** The scope is declared where the sites have passed. */
final class TooLate {
    private TooLate() {}

    @Template
    static void template() throws Throwable {
        Target.proceed();
        long scope = Target.scope(System.nanoTime());
        Math.abs(scope);
    }
}
