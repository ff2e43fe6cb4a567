package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassVisitor;
import org.objectweb.asm.MethodVisitor;
import org.objectweb.asm.Opcodes;

/** Level watch costs little, but not nothing: a method that is called a hundred million times a second loses its probe, by default. */
@Tag("timed")
class WithdrawnProbesIT {

    private static final String STEP = "targets.Conversation.step";
    private static final String LOST = STEP + " lost its probe";
    private static final String TOLD = "its time counts with its callers";
    private static final String WORK = "work 100000000";
    /** After this number of times it would have lost its probe: see the first test. */
    private static final int LONG_ENOUGH = 20;

    @EachJdk
    void aMethodThatIsCalledTooOftenLosesItsProbe(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, "", directory)) {
            assertEquals("twin load", program.ask("twin load"));
            String sum = program.ask(WORK);
            workUntil(program, sum, LOST);
            Path rewritten = directory.resolve("rewritten/targets/Conversation.class");
            assertFalse(hasProbe(rewritten, "step"), "its class has been retransformed by then");
            assertTrue(hasProbe(rewritten, "work"), "other methods keep theirs");
            assertEquals(sum, program.ask(WORK));
            assertEquals(sum, program.ask(WORK));
            String status = ControlSocket.status(program);
            String row = "\"method\":\"" + STEP + "\",\"category\":\"catch-all\",\"level\":\"removed\",\"recorded\":\\{[^}]*\"changes\":1[,}]";
            assertTrue(Pattern.compile(row).matcher(status).find(), () -> "instr top marks the removal: " + status);
            String explained = ControlSocket.ask(program, "{\"ask\":\"explain\",\"class\":\"" + STEP + "\"}");
            assertTrue(explained.contains("\"code\":\"suppressed\",\"reason\":\"the governor has removed the probe"), explained);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        List<String> notes = governorNotes(trace);
        assertTrue(notes.stream().anyMatch(note -> note.startsWith(LOST) && note.endsWith(TOLD)), notes.toString());
        assertTrue(trace.count("targets.Conversation.work") > 0, "other methods are still recorded");
        assertEquals(1, retransformed(directory), "the class of this name that is not linked is left alone (JDK-8277444)");
    }

    /** Returns whether a method calls the runtime, in the class as the JVM got it last. */
    private static boolean hasProbe(Path classFile, String method) throws IOException {
        AtomicBoolean found = new AtomicBoolean();
        ClassVisitor visitor = new ClassVisitor(Opcodes.ASM9) {
            @Override
            public MethodVisitor visitMethod(int access, String name, String descriptor, String signature, String[] exceptions) {
                return !name.equals(method) ? null : new MethodVisitor(Opcodes.ASM9) {
                    @Override
                    public void visitMethodInsn(int opcode, String owner, String called, String ofType, boolean isInterface) {
                        found.compareAndSet(false, owner.startsWith("java/instr/"));
                    }
                };
            }
        };
        try {
            new ClassReader(Files.readAllBytes(classFile)).accept(visitor, ClassReader.SKIP_FRAMES);
        } catch (IndexOutOfBoundsException beingWritten) {
            return true;
        }
        return found.get();
    }

    /** A live probe at level watch goes as well, and is back when somebody asks for it: then it stays. */
    @EachJdk
    void aLiveProbeIsRestoredWhenItsLevelIsSet(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, "level = \"watch\"\n[control]\nlive = true\n", directory)) {
            program.ask("twin load");
            String sum = program.ask(WORK);
            workUntil(program, sum, LOST);
            assertTrue(ControlSocket.status(program).contains("\"removed\":1"), ControlSocket.status(program));
            ControlSocket.level(program, STEP, "off");
            assertTrue(ControlSocket.status(program).contains("\"removed\":1"), "off is as good as gone");
            ControlSocket.level(program, STEP, "time");
            assertFalse(ControlSocket.status(program).contains("\"removed\""), ControlSocket.status(program));
            program.ask("work 70");
            ControlSocket.level(program, STEP, "watch");
            for (int asked = 0; asked < LONG_ENOUGH; asked++) {
                program.ask(WORK);
            }
            assertFalse(ControlSocket.status(program).contains("\"removed\""), "it is not the governor's business any more");
            assertEquals("twin link", program.ask("twin link"));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Trace trace = trace(directory);
        assertEquals(70, trace.callsOf(STEP).stream().filter(Trace.Call::exact).count());
        assertTrue(governorNotes(trace).contains(STEP + " has its probe again, by request"), governorNotes(trace).toString());
        assertEquals(3, retransformed(directory), "without the probe, with it, and the class of this name that waited until it was linked");
    }

    @EachJdk(oldestAndNewest = true)
    void aRuleKeepsTheGovernorAway(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, "governed = false\n", directory)) {
            for (int asked = 0; asked < LONG_ENOUGH; asked++) {
                program.ask(WORK);
            }
            assertFalse(ControlSocket.status(program).contains("lost its probe"), ControlSocket.status(program));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        assertEquals(List.of(), governorNotes(trace(directory)));
    }

    /** HotSpot cannot retransform a record with type annotations (JDK-8376185): its probes stay, and nobody reports them as removed. */
    @EachJdk(from = 21, having = "javac")
    void aProbeThatCannotBeRemovedIsReportedOnceAsKept(Jdk jdk) {
        Path directory = RunDirectories.create();
        Path hot = Compilation.write(directory.resolve("Hot.java"), """
                package app;
                import java.lang.annotation.*;
                public record Hot(@Marked int factor) {
                    @Target(ElementType.TYPE_USE) @Retention(RetentionPolicy.RUNTIME) @interface Marked {}
                    long step(int i) {
                        if (i < 0) { throw new IllegalArgumentException("no step"); }
                        return (long) i * factor % 7;
                    }
                }
                """);
        Path talk = Compilation.write(directory.resolve("Talk.java"), """
                package app;
                public class Talk {
                    public static void main(String[] none) throws Exception {
                        var input = new java.io.BufferedReader(new java.io.InputStreamReader(System.in));
                        var hot = new Hot(3);
                        System.out.println("ready");
                        for (String line = input.readLine(); !line.equals("quit"); line = input.readLine()) {
                            System.out.println(work(hot, Integer.parseInt(line.substring(5))));
                        }
                    }
                    private static long work(Hot hot, int steps) {
                        long sum = 0;
                        for (int i = 0; i < steps; i++) { sum += hot.step(i); }
                        return sum;
                    }
                }
                """);
        Path classes = directory.resolve("classes");
        Compilation.javac(jdk, classes, List.of(hot, talk));
        try (Dialog program = Program.of(jdk, List.of("-cp", classes.toString()), List.of("app.Talk"))
                .talkWithAgent(AgentConfig.of("[[rule]]\nclass = \"app.Hot\"\n"), directory)) {
            String sum = program.ask(WORK);
            String kept = "app.Hot.step keeps its probe";
            workUntil(program, sum, " its probe");
            for (int asked = 0; asked < LONG_ENOUGH; asked++) {
                program.ask(WORK);
            }
            String status = ControlSocket.status(program);
            assertTrue(status.contains(kept), status);
            assertEquals(status.indexOf(kept), status.lastIndexOf(kept), status);
            assertFalse(status.contains("\"removed\""), status);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
        Finished run = Finished.in(directory);
        assertEquals(Map.of("hotspot-8376185", 1L), run.stats().refused());
        assertEquals(0, run.trace().events("instr.Claim").size());
        assertEquals(1, governorNotes(run.trace()).size());
    }

    /** Calls the method until the status contains this text. */
    private static void workUntil(Dialog program, String sum, String wanted) {
        ControlSocket.await(program, status -> {
            assertEquals(sum, program.ask(WORK));
            return status.contains(wanted);
        });
    }

    private static Dialog conversation(Jdk jdk, String ofRule, Path directory) throws IOException {
        AgentConfig config = AgentConfig.of("", "dump = \"rewritten\"", """
                [[rule]]
                class = "targets.Conversation"
                """ + ofRule);
        return Program.target(jdk, "targets.Conversation").talkWithAgent(config, directory);
    }

    private static List<String> governorNotes(Trace trace) {
        return trace.events("instr.Note").stream()
                .filter(note -> note.getString("kind").equals("governor"))
                .map(note -> note.getString("message"))
                .toList();
    }

    private static Trace trace(Path directory) {
        return Finished.in(directory).trace();
    }

    private static long retransformed(Path directory) {
        return Finished.in(directory).stats().figure("classes_retransformed");
    }
}
