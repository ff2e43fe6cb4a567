package io.instr.jvmtests.jvm;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Runs the command-line tools of a JDK, and our own. */
public final class Tool {

    private Tool() {}

    public static Finished run(Jdk jdk, String name, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(jdk.tool(name).toString()));
        command.addAll(arguments);
        return JvmProcess.start(command, RunDirectories.create(), false).finish();
    }

    /** Any command, in a directory of its own. */
    public static Finished run(String name, List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(name));
        command.addAll(arguments);
        return JvmProcess.start(command, RunDirectories.create(), false).finish();
    }

    /** Any command, in this directory; it must succeed. */
    public static void run(Path directory, List<String> command) {
        JvmProcess.start(command, directory, false).finish().assertExitCode(0);
    }

    /** {@code instr}, which the same build leaves beside the agent. */
    public static Finished instr(List<String> arguments) {
        List<String> command = new ArrayList<>(List.of(BuildResult.AGENT.path().resolveSibling("instr").toString()));
        command.addAll(arguments);
        return JvmProcess.start(command, RunDirectories.create(), false).finish();
    }
}
