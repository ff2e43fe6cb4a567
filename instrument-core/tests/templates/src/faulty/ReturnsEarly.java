package faulty;

import java.instr.Target;
import java.instr.Template;

final class ReturnsEarly {
    private ReturnsEarly() {}

    @Template
    static void template() throws Throwable {
        if (System.nanoTime() == 0) {
            return;
        }
        Target.proceed();
    }
}
