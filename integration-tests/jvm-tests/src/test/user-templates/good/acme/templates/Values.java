package acme.templates;

import java.instr.Target;
import java.instr.Template;

/** Looks at everything that a template can ask for. */
public final class Values {

    private Values() {}

    @Template(name = "values", category = "acme")
    static void values() throws Throwable {
        try {
            Target.proceed();
        } finally {
            System.out.println("# " + Target.className() + "." + Target.methodName() + Target.methodDescriptor() + " arg1="
                    + Target.arg(1) + " of " + Target.args().length + " result=" + Target.result() + " thrown=" + Target.thrown());
        }
    }

    @Template(name = "receiver", category = "acme")
    static void receiver() throws Throwable {
        Object self = Target.self();
        Target.proceed();
        System.out.println("# receiver " + (self == null ? "none" : self.getClass().getName()) + " same=" + (self == Target.self()));
    }
}
