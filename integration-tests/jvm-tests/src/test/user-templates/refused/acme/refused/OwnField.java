package acme.refused;

import java.instr.Target;
import java.instr.Template;

public final class OwnField {

    static int calls;

    @Template(name = "own-field")
    static void template() throws Throwable {
        calls++;
        Target.proceed();
    }
}
