package instr.templates;

import java.instr.CallerFinder;
import java.instr.Sites;
import java.instr.Target;
import java.instr.Template;

/** Methods whose own calls are measured, where the plan chooses some of them, and those whose callers are counted. Rules can use neither. */
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

    /** Counts the callers of a method, and the time of their calls, in short windows. Caller finders put it into the method that they are about. */
    @Template(name = "caller-hook", category = "caller-finder")
    static void callers() throws Throwable {
        int row = CallerFinder.enter(Target.id());
        long start = CallerFinder.start(row);
        try {
            Target.proceed();
        } finally {
            CallerFinder.exit(row, start, Target.id());
        }
    }
}
