package faulty;

import java.instr.Target;
import java.instr.Template;

final class NegativeArgument {
    private NegativeArgument() {}

    @Template
    static void template() throws Throwable {
        System.identityHashCode(Target.arg(-1));
        Target.proceed();
    }
}
