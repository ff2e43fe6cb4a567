package instr.templates;

import java.instr.Sites;
import java.instr.Target;
import java.instr.Template;

/** Methods whose own calls are measured, where the plan chooses some of them. */
final class CallSites {
    private CallSites() {}

    /** The scope tells the sites in the method's body which call they belong to. */
    @Template(name = "call-sites", category = "diagnosis")
    static void callSites() throws Throwable {
        long scope = Target.scope(Sites.enter(Target.id()));
        try {
            Target.proceed();
        } finally {
            Sites.exit(scope, Target.id());
        }
    }
}
