package faulty;

import java.instr.Target;
import java.instr.Template;

final class TwoSentinels {
    private TwoSentinels() {}

    @Template
    static void template() throws Throwable {
        Target.proceed();
        System.nanoTime();
        Target.proceed();
    }
}
