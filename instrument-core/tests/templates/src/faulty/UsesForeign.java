package faulty;

import java.instr.Target;
import java.instr.Template;
import probe.Log;

final class UsesForeign {
    private UsesForeign() {}

    @Template
    static void template() throws Throwable {
        Log.note("in");
        Target.proceed();
    }
}
