package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** HotSpot never compiles a method of more than 8,000 bytes: the agent must push none over that limit. */
class HugeMethodIT {

    private static final int CALLS = 2_000;

    @EachJdk
    void aHotMethodNearTheLimitStaysCompiled(Jdk jdk) {
        Finished plain = program(jdk).with("-XX:+PrintCompilation").withoutAgent();
        assertTrue(compiledBytes(plain).containsValue(7_990), () -> "not even hot enough without the agent: " + plain.stdout());

        Finished run = program(jdk).with("-XX:+PrintCompilation").withAgent(AgentConfig.timed("huge.Methods").ungoverned());

        run.assertExitCode(0);
        Map<String, Integer> compiled = compiledBytes(run);
        // There is no room for the template in it, so it is kept unchanged under another name, and a wrapper calls it.
        assertTrue(compiled.containsValue(7_990), () -> "not compiled any more: " + compiled);
        assertTrue(compiled.get("nearLimit") < 100, () -> "the wrapper is not compiled: " + compiled);
        int fits = compiled.getOrDefault("fits", 0);
        assertTrue(fits > 7_900 && fits <= 8_000, () -> "instrumented in its own body, and compiled: " + compiled);
    }

    @EachJdk
    void methodsOfEverySizeAreCountedAndDoTheSame(Jdk jdk) {
        Finished run = program(jdk).compare(AgentConfig.timed("huge.Methods").ungoverned());

        Map<String, Long> counts = run.trace().counts();
        for (String method : List.of("inlined", "inlinedIfHot", "fits", "nearLimit", "vast")) {
            assertEquals(CALLS, counts.get("huge.Methods." + method), () -> method + " in " + counts);
        }
        assertEquals(1, run.stats().figure("past_max_inline_size"), "inlined");
        assertEquals(1, run.stats().figure("past_freq_inline_size"), "inlinedIfHot");
        long growth = run.stats().figure("code_bytes_out") - run.stats().figure("code_bytes_in");
        assertTrue(growth > 5 * 15 && growth < 5 * 40, () -> growth + " bytes for main and four others in place");
    }

    private static Program program(Jdk jdk) {
        Path directory = RunDirectories.create();
        new OddClasses(directory).withMethodsAroundTheLimitOfTheJit("huge/Methods", CALLS);
        return Program.of(jdk, List.of("-cp", directory.toString(), "-Xbatch", "-Xverify:all"), List.of("huge.Methods"));
    }

    /** Bytes of each method of the class that the JIT has compiled, by the first word of its name. */
    private static Map<String, Integer> compiledBytes(Finished run) {
        Pattern line = Pattern.compile("huge\\.Methods::(\\S+) \\((\\d+) bytes\\)");
        Map<String, Integer> bytes = new TreeMap<>();
        for (Matcher found = line.matcher(run.stdout()); found.find(); ) {
            bytes.put(found.group(1), Integer.parseInt(found.group(2)));
        }
        return bytes;
    }
}
