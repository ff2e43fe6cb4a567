package faulty;

import java.instr.Target;
import java.instr.Template;

final class UsesLambda {
    private UsesLambda() {}

    @Template
    static void template() throws Throwable {
        Runnable action = () -> System.nanoTime();
        Target.proceed();
        action.run();
    }
}
