package faulty;

import java.instr.Target;
import java.instr.Template;

final class InFinally {
    private InFinally() {}

    @Template
    static void template() throws Throwable {
        try {
            System.nanoTime();
        } finally {
            Target.proceed();
        }
    }
}
