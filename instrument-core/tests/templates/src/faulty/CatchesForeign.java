package faulty;

import java.instr.Target;
import java.instr.Template;
import probe.Refusing;

final class CatchesForeign {
    private CatchesForeign() {}

    @Template
    static void template() throws Throwable {
        try {
            Target.proceed();
        } catch (Refusing e) {
            throw e;
        }
    }
}
