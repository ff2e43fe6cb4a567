package faulty;

import java.instr.Target;
import java.instr.Template;

final class NoBody {
    private NoBody() {}

    @Template
    static native void template() throws Throwable;
}
