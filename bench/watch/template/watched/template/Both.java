package watched.template;

import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;
import java.instr.Watch;

/**
 * Measures each call exactly and by ticks at once, so that what differs is the estimate's error and nothing else. A live template has
 * two numbers, the second one for times that are not exact.
 */
final class Both {
    private Both() {}

    @Template(name = "both", category = "validation", live = true)
    static void both() throws Throwable {
        long start = Timer.enter();
        long tick = Watch.tick;
        try {
            Target.proceed();
        } finally {
            Timer.exit(start, Target.id());
            Watch.exit(tick, Target.id() + 1);
        }
    }
}
