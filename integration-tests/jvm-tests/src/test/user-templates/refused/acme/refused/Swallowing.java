package acme.refused;

import java.instr.Target;
import java.instr.Template;

public final class Swallowing {

    @Template(name = "swallowing")
    static void template() {
        try {
            Target.proceed();
        } catch (Throwable thrown) {
            System.out.println(thrown);
        }
    }
}
