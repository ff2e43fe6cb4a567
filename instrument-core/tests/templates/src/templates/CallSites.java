package templates;

import java.instr.Target;
import java.instr.Template;
import probe.Sites;

/** Templates with a scope for call sites. */
final class CallSites {
    private CallSites() {}

    @Template(name = "sites", requires = "probe.Sites")
    static void sites() throws Throwable {
        long scope = Target.scope(Sites.enter(Target.id()));
        try {
            Target.proceed();
        } finally {
            Sites.exit(scope, Target.id());
        }
    }

    /** The scope is not the first local, and nothing after the target uses it. */
    @Template(name = "sites-without-end", requires = "probe.Sites")
    static void withoutEnd() throws Throwable {
        int number = Target.methodName().length();
        double other = number / 2.0;
        long scope = Target.scope(Sites.enter(Target.id()));
        Target.proceed();
        Sites.leave(number + (int) other);
    }
}
