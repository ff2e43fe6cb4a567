package faulty;

import java.instr.Target;
import java.instr.Template;

final class TakesArgument {
    private TakesArgument() {}

    @Template
    static void template(int number) throws Throwable {
        Target.proceed();
    }
}
