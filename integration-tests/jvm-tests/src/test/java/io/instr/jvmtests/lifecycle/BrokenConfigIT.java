package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Whatever is wrong with the configuration, a message says where and what to do, and the application runs. */
class BrokenConfigIT {

    private static final String RULE = """
            [[rule]]
            class = "targets.Hello"
            level = "time"
            """;

    @EachJdk(oldestAndNewest = true)
    void aTypoInAKey(Jdk jdk) {
        assertTold(jdk, "[[rule]]\nclas = \"targets.Hello\"\n", "instr.toml:2:1", "^^^^", "class");
    }

    @EachJdk(oldestAndNewest = true)
    void aTypoInATable(Jdk jdk) {
        assertTold(jdk, "[tarce]\nfile = \"trace.jfr\"\n" + RULE, "instr.toml:1:2", "^^^^^", "trace");
    }

    @EachJdk(oldestAndNewest = true)
    void aKeyOfAnotherTable(Jdk jdk) {
        assertTold(jdk, "[trace]\nstats = \"stats.json\"\n" + RULE, "instr.toml:2:1", "^^^^^", "agent");
    }

    @EachJdk(oldestAndNewest = true)
    void aBadGlob(Jdk jdk) {
        assertTold(jdk, "[[rule]]\nclass = \"targets.***\"\n", "instr.toml:2:", "^", "**");
    }

    @EachJdk(oldestAndNewest = true)
    void aTypoInALevel(Jdk jdk) {
        assertTold(jdk, "[[rule]]\nclass = \"targets.Hello\"\nlevel = \"tiem\"\n", "instr.toml:3:", "^", "time");
    }

    @EachJdk(oldestAndNewest = true)
    void aTemplateThatIsNotThere(Jdk jdk) {
        assertTold(jdk, "[[rule]]\nclass = \"targets.Hello\"\ntemplate = \"timd\"\n", "instr.toml:3:", "^^^^", "timed");
    }

    @EachJdk(oldestAndNewest = true)
    void aPresetThatIsNotThere(Jdk jdk) {
        assertTold(jdk, "[[rule]]\npreset = \"jdcb\"\n", "instr.toml:2:", "^^^^", "jdbc");
    }

    @EachJdk(oldestAndNewest = true)
    void brokenSyntax(Jdk jdk) {
        assertTold(jdk, "[[rule]\nclass = \"targets.Hello\"\n", "instr.toml:1:", "^");
    }

    @EachJdk(oldestAndNewest = true)
    void aFileThatIsNotThere(Jdk jdk) {
        Program program = Program.target(jdk, "targets.Hello");
        Finished run = program.start(List.of(Program.agentOption("nowhere.toml")), RunDirectories.create()).finish();
        assertRunsUninstrumented(program, run);
        assertTrue(run.stderr().contains("nowhere.toml"), run.stderr());
    }

    @EachJdk(oldestAndNewest = true)
    void aFileThatIsNoText(Jdk jdk) throws IOException {
        Program program = Program.target(jdk, "targets.Hello");
        Path directory = RunDirectories.create();
        Files.write(directory.resolve("instr.toml"), new byte[] {'a', ' ', (byte) 0xff, 0});
        Finished run = program.start(List.of(Program.agentOption("instr.toml")), directory).finish();
        assertRunsUninstrumented(program, run);
        assertTrue(run.stderr().contains("instr.toml is no text in UTF-8 (byte 2 is not)"), run.stderr());
    }

    @EachJdk(oldestAndNewest = true)
    void aDirectory(Jdk jdk) {
        Program program = Program.target(jdk, "targets.Hello");
        Path directory = RunDirectories.create();
        Finished run = program.start(List.of(Program.agentOption(directory.toString())), directory).finish();
        assertRunsUninstrumented(program, run);
        assertTrue(run.stderr().contains(directory + ": it is a directory") && run.stderr().contains("name the TOML file"), run.stderr());
    }

    @EachJdk(oldestAndNewest = true)
    void noFileAtAll(Jdk jdk) {
        Program program = Program.target(jdk, "targets.Hello");
        String agent = "-agentpath:" + BuildResult.AGENT.path();
        Finished run = program.start(List.of(agent), RunDirectories.create()).finish();
        assertRunsUninstrumented(program, run);
        assertTrue(run.stderr().contains("-agentpath:"), "says how to give one: " + run.stderr());
    }

    @EachJdk(oldestAndNewest = true)
    void aTemplateJarThatIsNotThere(Jdk jdk) {
        Finished run = assertTold(jdk, "[agent]\ntemplates = [\"nowhere.jar\"]\n" + RULE, "nowhere.jar");
        assertFalse(Files.exists(run.directory().resolve("trace.jfr")), "nothing was recorded");
    }

    @EachJdk(oldestAndNewest = true)
    void abortOnRequest(Jdk jdk) {
        AgentConfig config = AgentConfig.verbatim("[agent]\non_error = \"abort\"\n[[rule]]\nclas = \"targets.Hello\"\n");
        Finished run = Program.target(jdk, "targets.Hello").withAgent(config);
        assertFalse(run.exitCode() == 0, "the JVM stops");
        assertFalse(run.stdout().contains("hello"), run.stdout());
        assertTrue(run.stderr().contains("instr.toml:4:1"), run.stderr());
    }

    @EachJdk(oldestAndNewest = true)
    void aTraceFileThatCannotBeWritten(Jdk jdk) {
        Program program = Program.target(jdk, "targets.Hello");
        Finished run = program.withAgent(AgentConfig.verbatim("[trace]\nfile = \"/proc/nowhere/trace.jfr\"\n" + RULE));
        assertEquals(program.withoutAgent().stdout(), run.stdout());
        run.assertExitCode(0);
        assertTrue(run.stderr().contains("/proc/nowhere/trace.jfr") && run.stderr().contains("[trace] file"), run.stderr());
        assertFewLines(run);
    }

    @EachJdk(oldestAndNewest = true)
    void aTraceFileThatSomebodyNeeds(Jdk jdk) throws IOException {
        Program program = Program.target(jdk, "targets.Hello");
        Path notes = RunDirectories.create().resolve("notes.txt");
        Files.writeString(notes, "still needed");
        Finished run = program.withAgent(AgentConfig.verbatim("[trace]\nfile = \"" + notes + "\"\n" + RULE));
        assertRunsUninstrumented(program, run);
        assertTrue(run.stderr().contains(notes + ": the file is there already and is no recording"), run.stderr());
        assertEquals("still needed", Files.readString(notes));
    }

    @EachJdk(oldestAndNewest = true)
    void aTraceFileOnAFullDisk(Jdk jdk) {
        Program program = Program.target(jdk, "targets.Hello");
        Finished run = program.withAgent(AgentConfig.verbatim("[trace]\nfile = \"/dev/full\"\n" + RULE));
        assertRunsUninstrumented(program, run);
        assertTrue(run.stderr().contains("/dev/full: No space left on device"), run.stderr());
    }

    @EachJdk(oldestAndNewest = true)
    void anotherCopyOfTheAgent(Jdk jdk) throws IOException {
        Path copy = Files.copy(BuildResult.AGENT.path(), RunDirectories.create().resolve("copy.so"));
        Program program = Program.target(jdk, "targets.Hello").with("-agentpath:" + copy + "=instr.toml");
        Finished run = program.withAgent(AgentConfig.timed("targets.Hello").ungoverned());
        run.assertExitCode(0);
        assertTrue(run.stderr().contains("another copy of libinstr.so is in this JVM already"), run.stderr());
        assertFewLines(run);
    }

    @EachJdk(oldestAndNewest = true)
    void aSecondAgent(Jdk jdk) {
        Program program = Program.target(jdk, "targets.Hello").with(Program.agentOption("instr.toml"));
        Finished run = program.withAgent(AgentConfig.timed("targets.Hello").ungoverned());
        run.assertExitCode(0);
        assertEquals(Program.target(jdk, "targets.Hello").withoutAgent().stdout(), run.stdout());
        assertTrue(run.stderr().contains("instr"), "there is a message: " + run.stderr());
        assertFewLines(run);
        assertEquals(3, run.trace().count("targets.Hello.greet"), "the first agent works on, and calls are recorded once");
    }

    /** Standard error must hold each of these, and the application must not care. */
    private static Finished assertTold(Jdk jdk, String config, String... expected) {
        Program program = Program.target(jdk, "targets.Hello");
        Finished run = program.withAgent(AgentConfig.verbatim(config));
        assertRunsUninstrumented(program, run);
        for (String part : expected) {
            assertTrue(run.stderr().contains(part), () -> "no `" + part + "` in\n" + run.stderr());
        }
        return run;
    }

    private static void assertRunsUninstrumented(Program program, Finished run) {
        run.assertExitCode(0);
        assertEquals(program.withoutAgent().stdout(), run.stdout());
        assertFewLines(run);
    }

    private static void assertFewLines(Finished run) {
        assertTrue(run.stderr().lines().count() <= 15, () -> "one message, not a flood:\n" + run.stderr());
    }
}
