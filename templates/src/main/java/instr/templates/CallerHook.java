package instr.templates;

import java.instr.CallerFinder;
import java.instr.Target;
import java.instr.Template;

/** Counts the callers of a method, and the time of their calls, in short windows. Rules cannot use it; caller finders put it into the method that they are about. */
final class CallerHook {
    private CallerHook() {}

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
