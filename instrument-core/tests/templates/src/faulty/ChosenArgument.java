package faulty;

import java.instr.Target;
import java.instr.Template;

final class ChosenArgument {
    private ChosenArgument() {}

    @Template
    static void template() throws Throwable {
        System.identityHashCode(Target.arg(System.nanoTime() == 0 ? 0 : 1));
        Target.proceed();
    }
}
