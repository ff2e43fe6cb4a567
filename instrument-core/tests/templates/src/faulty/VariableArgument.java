package faulty;

import java.instr.Target;
import java.instr.Template;

final class VariableArgument {
    private VariableArgument() {}

    @Template
    static void template() throws Throwable {
        int index = (int) System.nanoTime();
        System.identityHashCode(Target.arg(index));
        Target.proceed();
    }
}
