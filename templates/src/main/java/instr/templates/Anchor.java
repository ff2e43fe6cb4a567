package instr.templates;

import java.instr.Contexts;
import java.instr.Target;
import java.instr.Template;

/** Marks a method of a context: that it is executing. Rules cannot use it; contexts put it into the methods that they name. */
final class Anchor {
    private Anchor() {}

    @Template(name = "anchor", category = "context")
    static void anchor() throws Throwable {
        long before = Contexts.anchor(Target.id());
        try {
            Target.proceed();
        } finally {
            Contexts.leave(before);
        }
    }
}
