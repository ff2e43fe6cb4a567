package faulty;

import java.instr.Target;
import java.instr.Template;

final class UsesReference {
    private UsesReference() {}

    @Template
    static void template() throws Throwable {
        Runnable action = System::nanoTime;
        Target.proceed();
        action.run();
    }
}
