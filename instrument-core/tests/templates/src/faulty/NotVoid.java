package faulty;

import java.instr.Target;
import java.instr.Template;

final class NotVoid {
    private NotVoid() {}

    @Template
    static int template() throws Throwable {
        Target.proceed();
        return 1;
    }
}
