package instr.templates;

import java.instr.Full;
import java.instr.Guard;
import java.instr.Level;
import java.instr.Live;
import java.instr.Target;
import java.instr.Template;
import java.instr.Timer;
import java.instr.Watch;

/** For any method of interest: how often, when, how long. */
final class CatchAll {
    private CatchAll() {}

    @Template(name = "timed", category = "catch-all", level = Level.TIME)
    static void timed() throws Throwable {
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            Timer.exit(start, Target.id());
        }
    }

    @Template(name = "timed", category = "catch-all", level = Level.FULL)
    static void timedFull() throws Throwable {
        long call = Full.enter(Target.id());
        long start = Timer.enter();
        try {
            Target.proceed();
        } finally {
            Full.exit(call, start, Target.id(), Target.thrown());
        }
    }

    @Template(name = "timed", category = "catch-all", level = Level.WATCH)
    static void timedWatch() throws Throwable {
        double start = Watch.tick;
        try {
            Target.proceed();
        } catch (Throwable thrown) {
            Watch.thrown(start, Target.id());
            throw thrown;
        }
        Watch.exit(start, Target.id());
    }

    @Template(name = "timed", category = "catch-all", live = true)
    static void timedLive() throws Throwable {
        long start = Live.enter(Target.id());
        try {
            Target.proceed();
        } catch (Throwable thrown) {
            Live.exitThrown(start, Target.id(), thrown);
            throw thrown;
        }
        Live.exit(start, Target.id());
    }

    @Template(name = "timed", category = "catch-all", level = Level.OFF)
    static void timedOff() throws Throwable {
        long start = Guard.enter();
        try {
            Target.proceed();
        } finally {
            Guard.exit(start, Target.id());
        }
    }
}
