package faulty;

import java.instr.Target;
import java.instr.Template;

final class NotStatic {
    private NotStatic() {}

    @Template
    void template() throws Throwable {
        Target.proceed();
    }
}
