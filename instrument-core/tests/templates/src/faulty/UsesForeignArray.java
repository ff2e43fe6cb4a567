package faulty;

import java.instr.Target;
import java.instr.Template;
import probe.Log;

final class UsesForeignArray {
    private UsesForeignArray() {}

    @Template
    static void template() throws Throwable {
        Object array = new Log[1][2];
        Target.proceed();
        array.hashCode();
    }
}
