package faulty;

import java.instr.Target;
import java.instr.Template;

final class Swallows {
    private Swallows() {}

    @Template
    static void template() throws Throwable {
        try {
            Target.proceed();
        } catch (RuntimeException e) {
            System.nanoTime();
        }
    }
}
