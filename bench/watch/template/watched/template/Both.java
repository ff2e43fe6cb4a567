package watched.template;

import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;
import java.instr.Watch;

/**
 * Measures each call exactly and by ticks at once, so that what differs is the estimate's error and nothing else. A live template has
 * two numbers, the second one for times that are not exact. At both ends the tick is read before the clock, and nothing is recorded in between:
 * both times have the same length.
 */
final class Both {
    private Both() {}

    @Template(name = "both", category = "validation", live = true)
    static void both() throws Throwable {
        double tick = Watch.tick;
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            Watch.exit(tick, Target.id() + 1);
            Timer.exit(start, Target.id());
        }
    }
}
