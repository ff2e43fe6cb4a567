package acme.refused;

import java.instr.Template;

public final class NoSentinel {

    @Template(name = "no-sentinel")
    static void template() {
        System.out.println("never the target");
    }
}
