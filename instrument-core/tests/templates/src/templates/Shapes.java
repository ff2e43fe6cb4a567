package templates;

import java.instr.Level;
import java.instr.Target;
import java.instr.Template;
import probe.Log;
import probe.Refusing;

/** Templates of every shape that a template may have. */
final class Shapes {
    private Shapes() {}

    @Template(name = "bare")
    static void bare() throws Throwable {
        Target.proceed();
    }

    /** No handler: the epilog follows the target directly. */
    @Template(name = "straight", requires = "probe.Log")
    static void straight() throws Throwable {
        Log.enter(Target.id());
        Target.proceed();
        Log.exit(Target.id());
    }

    @Template(name = "bracket", requires = "probe.Log")
    static void bracket() throws Throwable {
        Log.enter(Target.id());
        try {
            Target.proceed();
        } finally {
            Log.exit(Target.id());
        }
    }

    @Template(name = "bracket", level = Level.WATCH, requires = "probe.Log")
    static void bracketWatch() throws Throwable {
        Target.proceed();
    }

    /** A local of two slots lives across the target. */
    @Template(name = "clock", category = "test")
    static void clock() throws Throwable {
        long start = System.nanoTime();
        try {
            Target.proceed();
        } finally {
            Math.abs(System.nanoTime() - start);
        }
    }

    @Template(name = "outer", requires = "probe.Log")
    static void outer() throws Throwable {
        Log.note("outer-in");
        try {
            Target.proceed();
        } finally {
            Log.note("outer-out");
        }
    }

    @Template(name = "inner", requires = "probe.Log")
    static void inner() throws Throwable {
        Log.note("inner-in");
        try {
            Target.proceed();
        } finally {
            Log.note("inner-out");
        }
    }

    /** Loops on both sides; the last prolog loop ends right before the target. */
    @Template(name = "loops", requires = "probe.Log")
    static void loops() throws Throwable {
        int before = 0;
        while (before < 2) {
            before++;
        }
        Target.proceed();
        do {
            before--;
        } while (before > 0);
        Log.note("left" + before);
    }

    @Template(name = "switches", requires = "probe.Log")
    static void switches() throws Throwable {
        String word;
        switch (Target.methodName().length()) {
            case 1:
                word = "one";
                break;
            case 2:
                word = "two";
                break;
            case 3:
                word = "three";
                break;
            default:
                word = "many";
        }
        Target.proceed();
        switch (word.length()) {
            case 3:
                Log.note("short");
                break;
            case 500:
                Log.note("long");
                break;
            case -70000:
                Log.note("negative");
                break;
            default:
                Log.note(word);
        }
    }

    /** Handlers in the prolog, around the target, and in the epilog. */
    @Template(name = "catches", requires = {"probe.Log", "probe.Refusing"})
    static void catches() throws Throwable {
        int number;
        try {
            number = Integer.parseInt(Target.methodName());
        } catch (NumberFormatException e) {
            number = -1;
        }
        try {
            Target.proceed();
        } catch (Refusing e) {
            Log.note("refusing");
            throw e;
        } catch (RuntimeException e) {
            Log.note("runtime");
            throw e;
        } finally {
            try {
                Log.note("finally" + number);
            } catch (IllegalStateException e) {
                Log.note("never");
            }
        }
    }

    /** Many locals, one of each kind, with gaps and re-used slots. */
    @Template(name = "locals", requires = "probe.Log")
    static void locals() throws Throwable {
        {
            int first = Target.methodName().length();
            int second = first + 1;
            Log.note("" + second);
        }
        long wide = System.nanoTime();
        float single = 1.5f;
        double large = 2.5;
        Object reference = Target.className();
        int[] array = {1, 2, 3};
        try {
            Target.proceed();
        } finally {
            Log.note(reference + " " + single + " " + large + " " + array.length + (wide == 0 ? "?" : ""));
        }
        int after = 70;
        int again = after + 1;
        Log.note("" + again);
    }

    /** Slot 1 is an int, then the second half of a long across the target, then an int again. */
    @Template(name = "reused", requires = "probe.Log")
    static void reused() throws Throwable {
        {
            int first = Target.methodName().length();
            int second = first + 1;
            Log.note("" + (second > 0));
        }
        {
            long start = System.nanoTime();
            try {
                Target.proceed();
            } finally {
                Log.note(start == 0 ? "?" : "out");
            }
        }
        int third = 3;
        int fourth = third + 1;
        Log.note("" + fourth);
    }

    /** Constants of every kind that Java 8 has. */
    @Template(name = "constants", requires = "probe.Log")
    static void constants() throws Throwable {
        Log.value(1_000_000);
        Log.value(3_000_000_000L);
        Log.value(1.25f);
        Log.value(Math.E);
        Log.value("text\0\ud83d\ude00");
        Log.value(String.class.getName() + String[].class.getName());
        Target.proceed();
        Object[][] table = new Object[2][3];
        Runnable known = table.length > 5 ? null : Thread.currentThread();
        Log.value(known instanceof Thread);
    }

    /** An object under construction across a branch: its type names the offset of its {@code new}. */
    @Template(name = "building", requires = "probe.Log")
    static void building() throws Throwable {
        StringBuilder built = new StringBuilder(Target.methodName().isEmpty() ? "a" : "b");
        Target.proceed();
        Log.value(new StringBuilder(built.length() > 1 ? "c" : "d"));
    }
}
