package io.instr.jvmtests.verifiers;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Verifiers that are not the JVM's read instrumented classes: what they say about a method counts only if they were content
 * with it before. {@code -Dinstr.sample.classes=100000 -Dinstr.sample.jars=JAR,JAR} lets them read more.
 */
@ExtendWith(RunDirectories.class)
class VerifiersIT {

    /** BCEL is slow: every so many classes. */
    private static final int BCEL_STEP = 6;

    @ParameterizedTest
    @ValueSource(strings = {"off", "watch", "time"})
    void asmAcceptsEveryMethod(String level) throws Exception {
        InstrumentedSample sample = InstrumentedSample.at(level);
        try (URLClassLoader superTypes = sample.superTypes()) {
            assertNoNewFaults(sample, new AsmFaults(superTypes), 1, 400);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"off", "watch", "time"})
    void bcelAcceptsEveryMethod(String level) throws Exception {
        InstrumentedSample sample = InstrumentedSample.at(level);
        try (URLClassLoader superTypes = sample.superTypes()) {
            assertNoNewFaults(sample, new BcelFaults(superTypes), BCEL_STEP, 40);
        }
    }

    /** The verifier of {@code java.lang.classfile} reads the frames that were written. */
    @EachJdk(from = 25, having = "javac")
    void classFileApiAcceptsEveryClass(Jdk jdk) throws Exception {
        String program = BuildResult.TARGET_SOURCES.path().resolve("main/java25/targets/VerifyWithClassFileApi.java").toString();
        for (String level : List.of("off", "watch", "time")) {
            InstrumentedSample sample = InstrumentedSample.at(level);
            List<String> arguments = List.of(program, sample.originals.toString(), sample.instrumented.toString(), sample.classPath());
            Finished run = Tool.run(jdk, "java", arguments).assertExitCode(0);
            assertEquals(List.of(), run.stdout().lines().filter(line -> line.startsWith("FAULT ")).toList(), level);
            assertTrue(Integer.parseInt(run.line("accepted")) > 400, run.stdout());
        }
    }

    private static void assertNoNewFaults(InstrumentedSample sample, ClassFault verifier, int step,
            int leastAccepted) throws IOException {
        Map<String, byte[]> originals = InstrumentedSample.classesOf(sample.originals);
        Map<String, byte[]> instrumented = InstrumentedSample.classesOf(sample.instrumented);
        assertEquals(originals.keySet(), instrumented.keySet());
        assertTrue(sample.methodsInstrumented > 4_000, sample.methodsInstrumented + " methods instrumented");
        List<String> faults = new ArrayList<>();
        int number = 0;
        int content = 0;
        for (Map.Entry<String, byte[]> entry : instrumented.entrySet()) {
            if (number++ % step != 0) {
                continue;
            }
            Map<String, String> after = new TreeMap<>(verifier.of(entry.getKey(), entry.getValue()));
            if (after.isEmpty()) {
                content++;
                continue;
            }
            after.keySet().removeAll(verifier.of(entry.getKey(), originals.get(entry.getKey())).keySet());
            after.forEach((method, message) -> faults.add(entry.getKey() + "." + method + ": " + message));
        }
        assertEquals(List.of(), faults);
        assertTrue(content > leastAccepted, content + " classes: the verifier accepts too few to tell");
    }
}
