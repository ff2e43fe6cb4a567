package io.instr.jvmtests.selection;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;

/** Classes of the same name whose loaders have the same identity hash, as happens by chance in programs with many loaders. */
class LoaderIdentityIT {

    @EachJdk
    void classesOfLoadersWithEqualHashesAreNotMistakenForEachOther(Jdk jdk) {
        long loaders = 8;
        Program program = Program.target(jdk, "targets.ParallelLoaders")
                .with("-XX:+UnlockExperimentalVMOptions", "-XX:hashCode=2");
        Finished run = program.compare(AgentConfig.of("""
                [[rule]]
                class = "targets.ParallelLoaders$MostDerived"
                method = "call"
                mode = "wrapper"
                level = "time"
                """).ungoverned());
        assertEquals(loaders, run.trace().count("targets.ParallelLoaders$MostDerived.call"));
        assertEquals(loaders, run.stats().figure("wrapped_classes"), "one class of each loader: " + run.stats());
    }
}
