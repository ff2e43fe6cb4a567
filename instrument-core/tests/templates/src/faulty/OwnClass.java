package faulty;

import java.instr.Target;
import java.instr.Template;

final class OwnClass {
    private OwnClass() {}

    @Template
    static void template() throws Throwable {
        synchronized (OwnClass.class) {
            System.nanoTime();
        }
        Target.proceed();
    }
}
