package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Samples;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Stacks through native code that keeps no frame pointer, uses its register for something else, and has frames of any size. */
class OddFramesIT {

    /** Without jni.h, which run-time images of a JDK do not have: the functions by their places in the table (JNI, chapter 4). */
    private static final String LIBRARY = """
            typedef void *(*find_method)(void ***, void *, const char *, const char *);
            typedef long (*call_long)(void ***, void *, void *, const int *);
            enum { GET_STATIC_METHOD_ID = 113, CALL_STATIC_LONG_METHOD_A = 134 };

            static long work(int steps) {
                unsigned long x = steps | 1;
                for (int i = 0; i < steps; i++) {
            #ifdef __x86_64__
                    __asm__ volatile("push %%rbp; mov %0, %%rbp; rol $7, %%rbp; xor $0x55, %%rbp; mov %%rbp, %0; pop %%rbp" : "+r"(x));
            #else
                    x = (x << 7 | x >> 57) ^ 0x55;
            #endif
                }
                return (long) (x & 0xff);
            }

            static long frame(void ***env, void *type, int left, int all) {
                volatile char room[left % 7 * 24 + 8];
                room[0] = (char) left;
                if (left > 0) return frame(env, type, left - 1, all) + room[0];
                void *back = ((find_method) (*env)[GET_STATIC_METHOD_ID])(env, type, "back", "(I)J");
                long arguments[1] = {all};
                return ((call_long) (*env)[CALL_STATIC_LONG_METHOD_A])(env, type, back, (const int *) arguments);
            }

            long Java_targets_OddFrames_deep(void ***env, void *type, int frames) {
                return work(2000) + frame(env, type, frames, frames);
            }

            long Java_targets_OddFrames_spin(void ***env, void *type, int steps) {
                return work(steps);
            }
            """;

    @EachJdk
    void nativeCodeWithoutFramePointersIsSurvived(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path source = Files.writeString(directory.resolve("odd.c"), LIBRARY);
        Path library = directory.resolve("libodd.so");
        Tool.run(directory, List.of("cc", "-O2", "-fomit-frame-pointer", "-fno-asynchronous-unwind-tables", "-fno-optimize-sibling-calls",
                "-shared", "-fPIC", "-o", library.toString(), source.toString()));
        Program program = Program.target(jdk, "targets.OddFrames", library.toString(), "40000");
        for (String engine : List.of("async", "jvmti")) {
            Finished run = program.compare(AgentConfig.of("[sampler]\ninterval = \"1 ms\"\nengine = \"" + engine + "\"\n"));
            Samples samples = Samples.of(run);
            assertTrue(samples.all() >= 50, samples.all() + " samples");
            List<Samples.Sample> inside = samples.taken().stream().filter(sample -> sample.has("targets.OddFrames.deep")).toList();
            assertTrue(inside.size() >= samples.all() / 2, inside.size() + " of " + samples.all() + " with " + samples.failed().size() + " failed");
            long whole = inside.stream().filter(sample -> sample.truncated() || sample.has("targets.OddFrames.main")).count();
            assertEquals(inside.size(), whole, "what is not whole is marked");
            assertTrue(inside.stream().anyMatch(sample -> sample.has("targets.OddFrames.spin") && sample.has("targets.OddFrames.back")),
                    "native code above Java code above native code");
        }
    }
}
