package acme.refused;

import java.instr.Target;
import java.instr.Template;

public final class WithLambda {

    @Template(name = "with-lambda")
    static void template() throws Throwable {
        Runnable note = () -> System.out.println("note");
        Target.proceed();
        note.run();
    }
}
