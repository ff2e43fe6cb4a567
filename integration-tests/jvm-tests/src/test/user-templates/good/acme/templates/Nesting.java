package acme.templates;

import java.instr.Target;
import java.instr.Template;

/** Two templates for one method, and one with a loop, a switch and try/finally of its own. */
public final class Nesting {

    private Nesting() {}

    @Template(name = "outer", category = "acme")
    static void outer() throws Throwable {
        System.out.println("# outer in");
        try {
            Target.proceed();
        } finally {
            System.out.println("# outer out");
        }
    }

    @Template(name = "inner", category = "acme")
    static void inner() throws Throwable {
        System.out.println("# inner in");
        try {
            Target.proceed();
        } finally {
            System.out.println("# inner out");
        }
    }

    @Template(name = "busy", category = "acme")
    static void busy() throws Throwable {
        long sum = 0;
        for (int i = 0; i < 4; i++) {
            switch (i) {
                case 1:
                    sum += 10;
                    break;
                case 3:
                    try {
                        sum += Integer.parseInt("x");
                    } catch (NumberFormatException expected) {
                        sum += 100;
                    } finally {
                        sum++;
                    }
                    break;
                default:
                    sum++;
            }
        }
        String text = sum > 0 ? "positive" : "negative";
        try {
            Target.proceed();
        } finally {
            for (int i = 0; i < 2; i++) {
                sum *= 2;
            }
            System.out.println("# busy " + text + " " + sum);
        }
    }
}
