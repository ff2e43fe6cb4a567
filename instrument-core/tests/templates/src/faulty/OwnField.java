package faulty;

import java.instr.Target;
import java.instr.Template;

final class OwnField {
    private OwnField() {}

    private static long last;

    @Template
    static void template() throws Throwable {
        last = System.nanoTime();
        Target.proceed();
    }
}
