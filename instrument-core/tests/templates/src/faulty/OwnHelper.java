package faulty;

import java.instr.Target;
import java.instr.Template;

final class OwnHelper {
    private OwnHelper() {}

    @Template
    static void template() throws Throwable {
        Target.proceed();
        helper();
    }

    private static void helper() {}
}
