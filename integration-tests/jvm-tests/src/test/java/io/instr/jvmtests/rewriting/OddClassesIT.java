package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.Opcodes;

/** Class files that other compilers, obfuscators and old ones write. */
class OddClassesIT {

    @EachJdk
    void returnsAndControlFlowOfOtherCompilers(Jdk jdk) {
        Path directory = RunDirectories.create();
        OddClasses classes = new OddClasses(directory);
        classes.withOperandsUnderTheResult("odd/Operands");
        classes.withStrangeControlFlow("odd/Flow");
        classes.withBusyConstructors("odd/Constructors");
        classes.withOddNames("odd/Names");

        Finished run = compare(jdk, directory, "odd.Operands", "odd.Flow", "odd.Constructors", "odd.Names");

        Map<String, Long> counts = run.trace().counts();
        for (String method : List.of(
                "Operands.returnsInt", "Operands.returnsLong", "Operands.returnsOverManyWords", "Operands.returnsNothing",
                "Operands.throwsFromAFullStack",
                "Flow.endsWithAThrowAndALoopBehindIt", "Flow.handlerCoversItself", "Flow.wholeBodyIsProtected",
                "Flow.jumpsForwardIntoTheLastInstruction", "Names.with space", "Names.null\u0000byte", "Names.\ud83d\ude00")) {
            assertEquals(1, counts.get("odd." + method), () -> method + " in " + counts);
        }
        assertEquals(3, counts.get("odd.Constructors.<init>"), () -> counts + "");
    }

    @EachJdk
    void oldClassesHaveNoFramesAndGetNone(Jdk jdk) {
        Path directory = RunDirectories.create();
        OddClasses classes = new OddClasses(directory);
        classes.withoutFrames("old/Version49", Opcodes.V1_5);
        classes.withoutFrames("old/Version50", Opcodes.V1_6);
        classes.withSubroutines("old/Version48");

        Finished run = compare(jdk, directory, "old.Version49", "old.Version50", "old.Version48");

        Map<String, Long> counts = run.trace().counts();
        for (String version : List.of("Version48", "Version49", "Version50")) {
            assertEquals(1, counts.get("old." + version + ".branches"), () -> version + " in " + counts);
            assertEquals(1, counts.get("old." + version + ".catches"), () -> version + " in " + counts);
        }
        boolean supported = counts.containsKey("old.Version48.subroutine");
        assertTrue(supported || refusals(run) == 1, () -> "jsr is neither supported nor counted: " + run.stats());
    }

    @EachJdk
    void largeMethodsAreInstrumentedWithoutPassingALimit(Jdk jdk) {
        Path directory = RunDirectories.create();
        new OddClasses(directory).withLargeMethods("large/Methods");

        Finished run = compare(jdk, directory, "large.Methods");

        Map<String, Long> counts = run.trace().counts();
        // The merge may exceed neither 65,535 bytes nor, where it was not exceeded before, what the JIT compiles: then a
        // wrapper counts the calls.
        for (String method : List.of("full", "justCompiled", "longJump", "small")) {
            assertEquals(1, counts.get("large.Methods." + method), () -> counts + " and " + run.stats().refused());
        }
    }

    private static long refusals(Finished run) {
        return run.stats().refused().values().stream().mapToLong(Long::longValue).sum();
    }

    private static Finished compare(Jdk jdk, Path directory, String... names) {
        String classPath = directory + ":" + BuildResult.TARGETS.path();
        List<String> main = new ArrayList<>(List.of("targets.RunGenerated"));
        main.addAll(List.of(names));
        Program program = Program.of(jdk, List.of("-cp", classPath, "-Xverify:all"), main);
        return program.compare(AgentConfig.timed("odd.**", "old.**", "large.**").ungoverned());
    }
}
