package acme.refused;

import java.instr.Target;
import java.instr.Template;
import javax.sql.DataSource;

public final class Foreign {

    @Template(name = "foreign")
    static void template() throws Throwable {
        Target.proceed();
        System.out.println(Target.self() instanceof DataSource);
    }
}
