package acme.refused;

import java.instr.Target;
import java.instr.Template;

public final class OwnMethod {

    @Template(name = "own-method")
    static void template() throws Throwable {
        note();
        Target.proceed();
    }

    private static void note() {}
}
