package faulty;

import java.instr.Target;
import java.instr.Template;

/** Two faulty templates beside a good one: both are reported, and none of the three is added. */
final class TwoFaults {
    private TwoFaults() {}

    @Template
    static void good() throws Throwable {
        Target.proceed();
    }

    @Template
    static void none() {}

    @Template
    static void early() throws Throwable {
        System.identityHashCode(Target.result());
        Target.proceed();
    }
}
