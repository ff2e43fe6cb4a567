package faulty;

import java.instr.Target;
import java.instr.Template;

final class Repeats {
    private Repeats() {}

    @Template
    static void template() throws Throwable {
        for (int i = 0; i < 3; i++) {
            Target.proceed();
        }
    }
}
