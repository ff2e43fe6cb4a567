package faulty;

import java.instr.Target;
import java.instr.Template;

final class Skips {
    private Skips() {}

    @Template
    static void template() throws Throwable {
        if (System.nanoTime() == 0) {
            Target.proceed();
        }
    }
}
