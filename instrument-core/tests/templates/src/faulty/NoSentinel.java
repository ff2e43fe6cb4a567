package faulty;

import java.instr.Target;
import java.instr.Template;

final class NoSentinel {
    private NoSentinel() {}

    @Template
    static void template() {
        System.nanoTime();
    }
}
