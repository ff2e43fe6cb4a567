package acme.refused;

import java.instr.Target;
import java.instr.Template;

public final class TwoSentinels {

    @Template(name = "two-sentinels")
    static void template() throws Throwable {
        Target.proceed();
        Target.proceed();
    }
}
