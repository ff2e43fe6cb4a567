package scopes;

import java.instr.Target;
import java.instr.Template;

/** No method gives the scope, so that nothing says which class the sites call. */
final class OfAConstant {
    private OfAConstant() {}

    @Template
    static void template() throws Throwable {
        long scope = Target.scope(5);
        Target.proceed();
        Math.abs(scope);
    }
}
