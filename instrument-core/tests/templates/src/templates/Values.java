package templates;

import java.instr.Target;
import java.instr.Template;
import probe.Log;

/** Templates that ask about their target. */
final class Values {
    private Values() {}

    @Template(name = "names", requires = "probe.Log")
    static void names() throws Throwable {
        Log.note(Target.className());
        Log.note(Target.methodName());
        Target.proceed();
        Log.note(Target.methodDescriptor());
    }

    @Template(name = "first", requires = "probe.Log")
    static void first() throws Throwable {
        Log.value(Target.arg(0));
        try {
            Target.proceed();
        } finally {
            Log.value(Target.arg(0));
        }
    }

    /** Only before the target: nothing needs to be saved. */
    @Template(name = "third-before", requires = "probe.Log")
    static void thirdBefore() throws Throwable {
        Log.value(Target.arg(2));
        Target.proceed();
    }

    @Template(name = "seventh", requires = "probe.Log")
    static void seventh() throws Throwable {
        Target.proceed();
        Log.value(Target.arg(6));
    }

    @Template(name = "all", requires = "probe.Log")
    static void all() throws Throwable {
        Log.value(Target.args());
        try {
            Target.proceed();
        } finally {
            Log.value(Target.args());
        }
    }

    @Template(name = "all-before", requires = "probe.Log")
    static void allBefore() throws Throwable {
        Log.value(Target.args());
        Target.proceed();
    }

    @Template(name = "receiver", requires = "probe.Log")
    static void receiver() throws Throwable {
        Log.value(Target.self() == null);
        try {
            Target.proceed();
        } finally {
            Log.value(Target.self() == null);
        }
    }

    @Template(name = "outcome", requires = "probe.Log")
    static void outcome() throws Throwable {
        try {
            Target.proceed();
        } finally {
            Log.value(Target.result());
            Log.value(Target.thrown());
        }
    }

    /** Everything at once, with locals of its own. */
    @Template(name = "everything", requires = "probe.Log")
    static void everything() throws Throwable {
        long start = System.nanoTime();
        try {
            Target.proceed();
        } finally {
            if (System.nanoTime() - start >= 0) {
                Log.value(Target.self() == null);
                Log.value(Target.args());
                Log.value(Target.arg(0));
                Log.value(Target.result());
                Log.value(Target.thrown());
                Log.enter(Target.id());
            }
        }
    }
}
