package instr.templates;

import java.instr.Sections;
import java.instr.Target;
import java.instr.Template;

/** For {@code io.instr.api.Section}: parts of methods that the application marks itself. */
final class Api {
    private Api() {}

    /** A method that takes the state of a section that begins. */
    @Template(name = "section-begin", category = "section")
    static void sectionBegin() throws Throwable {
        Target.proceed();
        Sections.begun(Target.arg(0));
    }

    /** A method that takes state and name of a section that ends. */
    @Template(name = "section-end", category = "section")
    static void sectionEnd() throws Throwable {
        Sections.ended(Target.arg(0), Target.arg(1));
        Target.proceed();
    }
}
