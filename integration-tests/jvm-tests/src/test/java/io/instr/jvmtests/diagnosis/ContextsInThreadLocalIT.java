package io.instr.jvmtests.diagnosis;

/** The suite with places that are found by a {@code ThreadLocal}. */
class ContextsInThreadLocalIT extends ContextsIT {

    @Override
    String place() {
        return "[contexts]\nplace = \"thread-local\"\n";
    }
}
