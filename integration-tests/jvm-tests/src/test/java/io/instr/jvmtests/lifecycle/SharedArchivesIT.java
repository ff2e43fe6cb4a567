package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/** Archives of shared classes stay in use under the agent, and their classes are instrumented nevertheless. */
class SharedArchivesIT {

    private static final String SHARED = "source: shared objects file";
    private static final AgentConfig CONFIG = AgentConfig.timed("targets.features.Loops", "java.util.HashMap").ungoverned();

    @EachJdk
    void theArchiveOfTheJdk(Jdk jdk) throws IOException {
        Optional<Path> base = archiveForImageWithout(jdk);
        Program program = program(jdk);
        assertStillShared(base.isPresent() ? program.with("-XX:SharedArchiveFile=" + base.get()) : program);
    }

    @EachJdk(from = 17)
    void anArchiveOfTheApplication(Jdk jdk) throws IOException {
        Optional<Path> base = archiveForImageWithout(jdk);
        Path archive = RunDirectories.create().resolve("app.jsa");
        Program dump = program(jdk).with("-XX:ArchiveClassesAtExit=" + archive);
        (base.isPresent() ? dump.with("-XX:SharedArchiveFile=" + base.get()) : dump).withoutAgent().assertExitCode(0);
        assertTrue(Files.exists(archive), "the archive was written");

        String files = base.map(path -> path + ":").orElse("") + archive;
        List<String> loaded = assertStillShared(program(jdk).with("-XX:SharedArchiveFile=" + files));
        assertTrue(loaded.stream().anyMatch(line -> line.contains("targets.features.Switches " + SHARED + " (top)")),
                "the classes of the application come from their archive");
    }

    @EachJdk(from = 25)
    void anAheadOfTimeCache(Jdk jdk) throws IOException {
        Path cache = RunDirectories.create().resolve("app.aot");
        program(jdk).with("-XX:AOTCacheOutput=" + cache).withoutAgent().assertExitCode(0);
        assertTrue(Files.exists(cache), "the cache was written");

        // With AOTMode=on the JVM ends if it cannot use the cache.
        List<String> loaded = assertStillShared(program(jdk).with("-XX:AOTCache=" + cache, "-XX:AOTMode=on"));
        assertTrue(loaded.stream().anyMatch(line -> line.contains("targets.features.Switches " + SHARED)),
                "the classes of the application come from the cache");
    }

    /** JDKs come with an archive; run-time images made by jlink may not, and get one here. */
    private static Optional<Path> archiveForImageWithout(Jdk jdk) {
        if (Files.exists(jdk.home().resolve("lib/server/classes.jsa"))) {
            return Optional.empty();
        }
        Path archive = RunDirectories.create().resolve("base.jsa");
        Tool.run(jdk, "java", List.of("-Xshare:dump", "-XX:SharedArchiveFile=" + archive)).assertExitCode(0);
        return Optional.of(archive);
    }

    private static Program program(Jdk jdk) {
        // Archives hold classes of jars only.
        return Program.of(jdk, List.of("-cp", BuildResult.TARGETS_JAR.path().toString()), List.of("targets.features.AllFeatures"));
    }

    /** Runs it both ways; returns what the JVM said of the classes it loaded under the agent. */
    private static List<String> assertStillShared(Program program) throws IOException {
        Path logs = RunDirectories.create();
        Finished plain = program.with(logTo(logs.resolve("plain"))).withoutAgent().assertExitCode(0);
        Finished run = program.with(logTo(logs.resolve("agent"))).withAgent(CONFIG).assertBehavesLike(plain);

        long before = sharedIn(Files.readAllLines(logs.resolve("plain")));
        List<String> loaded = Files.readAllLines(logs.resolve("agent"));
        long after = sharedIn(loaded);
        assertTrue(after >= before * 0.98, after + " shared classes with the agent, " + before + " without");
        assertTrue(before > 0, "the archive is in use without the agent");
        assertEquals(5, run.trace().count("targets.features.Loops.spin"), "a class of the application is instrumented");
        assertTrue(run.trace().count("java.util.HashMap.put") > 0, "a class of the archive is instrumented");
        return loaded;
    }

    private static String logTo(Path file) {
        return "-Xlog:class+load:file=" + file;
    }

    private static long sharedIn(List<String> lines) {
        return lines.stream().filter(line -> line.contains(SHARED)).count();
    }
}
