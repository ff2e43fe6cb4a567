package faulty;

import java.instr.Target;
import java.instr.Template;

final class ResultTooEarly {
    private ResultTooEarly() {}

    @Template
    static void template() throws Throwable {
        Object early = Target.result();
        Target.proceed();
        System.identityHashCode(early);
    }
}
