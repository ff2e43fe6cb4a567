package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.verifiers.SampleJars;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

/**
 * Damaged copies of real classes in a live JVM where everything is instrumented: each is defined or refused as it is
 * without the agent, with the same error; the JVM neither crashes nor hangs nor grows, and goes on.
 * {@code -Dinstr.mutations=100000 -Dinstr.seed=7} tries more, and others.
 */
class MutatedClassesIT {

    private static final int MUTATIONS = Integer.getInteger("instr.mutations", 2_000);
    private static final long SEED = Long.getLong("instr.seed", 1);
    /** What the agent may need: its buffers (32 MiB), the chunk being written (16), and what instrumented code is larger. */
    private static final long MOST_MEMORY_KIB = 200 * 1024;
    /**
     * The two faults that merging mends: room for operands that a method lacks (a template needs room, too), and before
     * version 50 a result whose type the JVM cannot infer (it is cast to the declared type, where returns meet).
     */
    private static final Pattern MENDED = Pattern.compile("defined-then-VerifyError-(no-room-for-operands|wrong-result)");

    @EachJdk
    void damagedClassesEndAsWithoutTheAgent(Jdk jdk) throws IOException {
        Program program = mutations(jdk);
        Finished plain = program.withoutAgent().assertExitCode(0);
        Finished run = program.withAgent(AgentConfig.of("max-file-mb = 16", "", """
                [[rule]]
                class = "**"
                template = "timed"
                level = "time"
                constructors = true
                class-initialisers = true
                bridges = true
                """).ungoverned());

        run.assertExitCode(0);
        assertEquals(List.of(), differences(plain, run), () -> "seed " + SEED + ", " + run.directory());
        assertEquals("still runs", run.line("good"));
        assertEquals(plain.stderr(), run.ownStderr(), "standard error");
        assertTrue(run.stats().methodsInstrumented() > 5L * MUTATIONS, () -> "most classes stayed as they were: " + run.stats());
        long growth = memory(run) - memory(plain);
        assertTrue(growth < MOST_MEMORY_KIB, () -> "needs " + growth + " KiB more than without the agent");
    }

    private static Program mutations(Jdk jdk) {
        List<String> main = new ArrayList<>(List.of("targets.mutation.MutatedClasses", SEED + "", MUTATIONS + ""));
        for (String jar : List.of("jackson-databind", "kotlin-stdlib", "groovy", "antlr-2", "asm-9")) {
            main.add(SampleJars.named(jar).toString());
        }
        return Program.of(jdk, List.of("-cp", BuildResult.TARGETS.path().toString()), main);
    }

    private static List<String> differences(Finished plain, Finished run) {
        List<String> expected = outcomes(plain);
        List<String> found = outcomes(run);
        assertEquals(MUTATIONS, expected.size());
        assertEquals(expected.size(), found.size(), "mutations tried");
        return IntStream.range(0, expected.size())
                .filter(i -> !MENDED.matcher(expected.get(i)).find())
                .filter(i -> !comparable(expected.get(i)).equals(comparable(found.get(i))))
                .mapToObj(i -> expected.get(i) + " became " + found.get(i))
                .toList();
    }

    private static List<String> outcomes(Finished run) {
        return run.stdout().lines().filter(line -> Character.isDigit(line.charAt(0))).toList();
    }

    /** Linking a class with several faults reports only the first of them: instrumented code is checked in another order. */
    private static String comparable(String outcome) {
        return outcome.replaceFirst("defined-then-.*", "defined-then-refused");
    }

    private static long memory(Finished run) throws IOException {
        Path file = run.directory().resolve("memory");
        return Long.parseLong(Files.readString(file));
    }
}
