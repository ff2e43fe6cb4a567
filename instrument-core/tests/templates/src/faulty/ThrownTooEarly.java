package faulty;

import java.instr.Target;
import java.instr.Template;

final class ThrownTooEarly {
    private ThrownTooEarly() {}

    @Template
    static void template() throws Throwable {
        Object early = Target.thrown();
        Target.proceed();
        System.identityHashCode(early);
    }
}
