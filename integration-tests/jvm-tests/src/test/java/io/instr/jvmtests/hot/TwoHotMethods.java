package io.instr.jvmtests.hot;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;

/** The program {@code targets.hot.TwoHotMethods}, with the agent and without a rule for it. */
final class TwoHotMethods {

    static final String CLASS = "targets.hot.TwoHotMethods";
    /** All that a walk can put a probe into: the frame of the method above them stays. */
    static final List<String> WITH_PROBES = List.of(named("left"), named("right"), named("both"), named("one"), named("choose"), named("serve"));

    private TwoHotMethods() {}

    static Dialog start(Jdk jdk, Path directory) throws IOException {
        return start(jdk, directory, LoadedBytes.atFreePort());
    }

    static Dialog start(Jdk jdk, Path directory, LoadedBytes loaded) {
        return program(jdk).with(loaded.option()).talkWithAgent(AgentConfig.of("[[rule]]\nclass = \"other.**\"\n"), directory);
    }

    static Dialog start(Jdk jdk, Path directory, AgentConfig config) {
        return program(jdk).talkWithAgent(config, directory);
    }

    /** Samples do not see a small loop that the JIT has inlined and unrolled. */
    private static Program program(Jdk jdk) {
        return Program.target(jdk, CLASS)
                .with("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints", "-XX:CompileCommand=quiet")
                .with("-XX:CompileCommand=dontinline," + CLASS + "::left", "-XX:CompileCommand=dontinline," + CLASS + "::right")
                .with("-XX:+EnableDynamicAgentLoading");
    }

    static String named(String method) {
        return CLASS + "." + method + "(int)";
    }

    /** Calls of {@code both} and of {@code one}, and wrong results of hot methods. */
    static long[] truth(Dialog program) {
        return Arrays.stream(program.ask("truth").split(" ")).mapToLong(Long::parseLong).toArray();
    }

    static void assertNoProbeOfWalks(String pid) {
        String claims = Tool.instr(List.of("claims", pid)).assertExitCode(0).stdout();
        assertTrue(!claims.contains("walk"), claims);
    }

    /** Ends the program. */
    static void assertUnharmed(Dialog program) {
        assertEquals(0, truth(program)[2], "wrong results of the program");
        program.send("quit");
        program.finish().assertExitCode(0);
    }
}
