package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import java.io.IOException;

/** The suite with places that are found by a {@code ThreadLocal}. */
class ContextsInThreadLocalIT extends ContextsIT {

    @Override
    String place() {
        return "[contexts]\nplace = \"thread-local\"\n";
    }

    /** The JVM clears the variables of a thread before the agent hears of its end: its place would never be given back. */
    @EachJdk(oldestAndNewest = true)
    void tasksCannotTakeContextsAlong(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk)) {
            String refused = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"targets.diagnosis.ContextWalk.x\",\"within\":\"targets.diagnosis.ContextWalk.a\",\"across_threads\":true,\"seconds\":600}");
            assertTrue(refused.contains("tasks take along only what is kept off heap"), refused);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }
}
