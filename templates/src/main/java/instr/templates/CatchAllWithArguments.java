package instr.templates;

import java.instr.Arguments;
import java.instr.Full;
import java.instr.Level;
import java.instr.Live;
import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;
import java.instr.Watch;

/**
 * What {@link CatchAll} notes, with the values that the rule chooses. Where there is no memory to box them, the call is noted
 * without.
 */
final class CatchAllWithArguments {
    private CatchAllWithArguments() {}

    @Template(name = "timed", category = "catch-all", level = Level.WATCH)
    static void timedWatch() throws Throwable {
        double start = Watch.tick;
        try {
            Target.proceed();
        } finally {
            long end = Watch.end(start, Target.id());
            if (end != 0L) {
                Object[] values = null;
                try {
                    values = Target.captured();
                } catch (Throwable noMemory) {
                    // See above.
                }
                Arguments.exit(Watch.began(start, end), end, Target.id(), values, Target.captureForm(), Target.thrown());
            }
        }
    }

    @Template(name = "timed", category = "catch-all", level = Level.TIME)
    static void timed() throws Throwable {
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            long end = Timer.end();
            Object[] values = null;
            try {
                values = Target.captured();
            } catch (Throwable noMemory) {
                // See above.
            }
            Arguments.exit(start, end, Target.id(), values, Target.captureForm(), Target.thrown());
        }
    }

    @Template(name = "timed", category = "catch-all", level = Level.FULL)
    static void timedFull() throws Throwable {
        long call = Full.enter(Target.id());
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            long end = Timer.end();
            Object[] values = null;
            try {
                values = Target.captured();
            } catch (Throwable noMemory) {
                // See above.
            }
            Arguments.exitFull(call, start, end, Target.id(), values, Target.captureForm(), Target.thrown());
        }
    }

    @Template(name = "timed", category = "catch-all", live = true)
    static void timedLive() throws Throwable {
        long start = Live.enter(Target.id());
        try {
            Target.proceed();
        } finally {
            if (Live.mustEnd(start)) {
                long end = Live.end(start);
                Object[] values = null;
                try {
                    values = Target.captured();
                } catch (Throwable noMemory) {
                    // See above.
                }
                Arguments.exitLive(start, end, Target.id(), values, Target.captureForm(), Target.thrown());
            }
        }
    }
}
