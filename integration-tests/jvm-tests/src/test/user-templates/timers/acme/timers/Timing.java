package acme.timers;

import java.instr.Target;
import java.instr.Template;

/** Puts a timer object around a method; the method is named in each of the ways there are. */
public final class Timing {

    private Timing() {}

    @Template(name = "one-string", category = "acme", requires = "acme.timers.CountingTimer")
    static void oneString() throws Throwable {
        CountingTimer timer = new CountingTimer(Target.qualifiedName());
        try {
            Target.proceed();
        } finally {
            timer.end();
        }
    }

    @Template(name = "two-strings", category = "acme", requires = "acme.timers.CountingTimer")
    static void twoStrings() throws Throwable {
        CountingTimer timer = new CountingTimer(Target.className(), Target.methodName());
        try {
            Target.proceed();
        } finally {
            timer.end();
        }
    }

    @Template(name = "number", category = "acme", requires = "acme.timers.CountingTimer")
    static void number() throws Throwable {
        CountingTimer timer = new CountingTimer(Target.id());
        try {
            Target.proceed();
        } finally {
            timer.end();
        }
    }
}
