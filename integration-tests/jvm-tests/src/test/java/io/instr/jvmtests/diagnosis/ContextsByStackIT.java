package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import java.io.IOException;

/** The suite with stacks that are walked: what anchors note must be what the stack says. */
class ContextsByStackIT extends ContextsIT {

    @Override
    String place() {
        return "[contexts]\nplace = \"stack\"\n";
    }

    /** Each has hundreds of probes, and each of these a thousand frames to look at. */
    @Override
    int overflows() {
        return 10;
    }

    @EachJdk(oldestAndNewest = true)
    void conditionsAreRefused(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            String refused = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"targets.diagnosis.ContextWalk.x\",\"when\":\"arg.0 = null\",\"seconds\":600}");
            assertTrue(refused.contains("the stack of a thread does not say for which calls a condition held"), refused);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }
}
