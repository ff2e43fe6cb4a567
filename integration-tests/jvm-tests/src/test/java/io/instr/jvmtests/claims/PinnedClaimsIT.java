package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** Claims that are kept for the next start, in the file that {@code [claims]} names. */
class PinnedClaimsIT {

    private static final String STEP = "targets.Conversation.step";
    private static final String CLAIMS = "{\"ask\":\"claims\"}";

    private final Path directory = RunDirectories.create();

    /** Started three times: the claim is made, is in force from the first call on, and is removed. */
    @EachJdk(oldestAndNewest = true)
    void aPinnedClaimIsInForceFromTheFirstCallOfTheNextStartUntilItIsRemoved(Jdk jdk) throws IOException {
        Path file = directory.resolve("claims.toml");
        try (Dialog program = start(jdk, "claims.toml")) {
            assertEquals("", end(program));
            assertFalse(Files.exists(file), "nothing is written without a request");
        }
        try (Dialog program = start(jdk, "claims.toml")) {
            instr("probe", program, STEP, "--pin").assertExitCode(0);
            instr("probe", program, "targets.Twin.act", "--pin", "--for", "2h").assertExitCode(0);
            Finished twice = instr("probe", program, STEP, "--pin", "--calls", "7");
            assertTrue(twice.exitCode() != 0 && twice.stderr().contains("claim 1 is pinned and wants the same"), twice.stderr());
            assertTrue(ControlSocket.ask(program, CLAIMS).contains("\"reason\":\"instr probe --pin, 1 method\",\"hits\":0,\"expires\":null"));
            assertEquals("", end(program));
        }
        assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file)));
        String kept = Files.readString(file);
        assertTrue(kept.contains("methods = \"" + STEP + "\"\ntemplate = \"timed\"\nlevel = \"time\"\n"), kept);
        assertTrue(kept.contains("for = \"7200 s\""), kept);
        try (Dialog program = start(jdk, "claims.toml")) {
            program.ask("work 1200");
            ControlSocket.awaitCalls(program, 1200);
            String claims = ControlSocket.ask(program, CLAIMS);
            assertTrue(claims.contains("\"id\":1,\"owner\":\"persisted\",\"role\":\"probe\",\"class\":\"targets.Conversation\",\"method\":\"step\""), claims);
            instr("remove", program, "1").assertExitCode(0);
            program.ask("work 50");
            assertEquals("", end(program));
        }
        assertEquals(1200, Finished.in(directory).trace().count(STEP), "from the first call to the removal");
        assertEquals(kept.replace("[[claim]]\nmethods = \"" + STEP + "\"\ntemplate = \"timed\"\nlevel = \"time\"\n\n", ""), Files.readString(file));
    }

    /** A list of components beside the rules: each of its classes has its probes when the JVM defines it, so none is retransformed. */
    @EachJdk(oldestAndNewest = true)
    void classesOfAFileWrittenByHandAreInstrumentedWhenTheyAreLoaded(Jdk jdk) throws IOException {
        Path file = write("claims.toml", "# Components of this server\n[[claim]]\nmethods = \"targets.Conv*.*\"\n\n[[claim]]\nmethods = \"targets.Twin.act\"\n");
        String byHand = Files.readString(file);
        try (Dialog program = start(jdk, "claims.toml")) {
            program.ask("work 7");
            program.ask("twin load");
            ControlSocket.awaitCalls(program, 9);
            String claims = ControlSocket.ask(program, CLAIMS);
            assertTrue(claims.contains("\"id\":1,\"owner\":\"persisted\",\"role\":\"probe\",\"class\":\"targets.Conv*\",\"method\":\"*\""), claims);
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"retransforms\":{\"batches\":0,"), status);
            assertEquals("", end(program));
        }
        Trace trace = Finished.in(directory).trace();
        for (Map.Entry<String, Long> calls : Map.of("main", 1L, "work", 1L, "step", 7L).entrySet()) {
            assertEquals(calls.getValue(), trace.count("targets.Conversation." + calls.getKey()), calls.getKey());
        }
        assertEquals(1, trace.count("targets.Twin.act"));
        assertEquals(byHand, Files.readString(file), "the file stays as it was written");
    }

    /** The application runs, the reason is reported, nothing is overwritten. */
    @EachJdk(from = 25)
    void aFileThatCannotBeUsedIsRefusedWithItsReason(Jdk jdk) throws IOException {
        String good = "[[claim]]\nmethods = \"" + STEP + "\"\n";
        Path own = Files.writeString(directory.resolve("own.toml"), good);
        Files.createSymbolicLink(directory.resolve("link.toml"), own);
        Path open = Files.writeString(directory.resolve("open.toml"), good);
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rw-rw-rw-"));
        write("broken.toml", good + "methods = \n");
        write("pattern.toml", "[[claim]]\nmethods = \"targets.Conv;.step\"\n");
        Map<String, String> reasons = Map.of(
                "link.toml", "is a link: name the file itself in [claims]",
                "open.toml", "can be written by others (mode 666): `chmod go-w` it",
                "broken.toml", "/broken.toml:3:",
                "pattern.toml", "/pattern.toml:2:");
        for (Map.Entry<String, String> reason : reasons.entrySet()) {
            Path file = directory.resolve(reason.getKey());
            String before = Files.readString(file);
            try (Dialog program = start(jdk, reason.getKey())) {
                String refused = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"" + STEP + "\",\"pin\":true}");
                assertTrue(refused.contains("nothing was pinned and no probe inserted: ") && refused.contains(reason.getValue()), refused);
                String claims = ControlSocket.ask(program, CLAIMS);
                assertFalse(claims.contains("persisted") || claims.contains("user"), "neither that of the file nor the new one");
                assertTrue(program.ask("work 100").startsWith("sum "));
                String stderr = end(program);
                assertTrue(stderr.contains(reason.getValue()), stderr);
                assertTrue(stderr.contains("the application runs without the pinned claims"), stderr);
            }
            assertEquals(before, Files.readString(file));
        }
        assertTrue(Files.isSymbolicLink(directory.resolve("link.toml")));
    }

    @EachJdk(from = 25)
    void aRequestThatCannotBeKeptIsRefusedAndInsertsNoProbe(Jdk jdk) throws IOException {
        // Nobody can create a file there, not even root.
        try (Dialog program = start(jdk, "/proc/self/claims.toml")) {
            String original = program.ask("position");
            Finished refused = instr("probe", program, "targets.Conversation.position", "--pin");
            assertTrue(refused.exitCode() != 0 && refused.stderr().contains("the claims file /proc/self/claims.toml cannot be written"), refused.stderr());
            assertEquals(original, program.ask("position"));
            assertFalse(ControlSocket.ask(program, CLAIMS).contains("\"owner\":\"user\""));
            assertEquals("", end(program));
        }
        Path template = write("template.toml", "[[claim]]\nmethods = \"" + STEP + "\"\n\n[[claim]]\nmethods = \"a.B.c\"\ntemplate = \"timd\"\n");
        try (Dialog program = start(jdk, "template.toml")) {
            program.ask("work 7");
            ControlSocket.awaitCalls(program, 7);
            String stderr = end(program);
            assertTrue(stderr.contains(template + ":4: ") && stderr.contains("timd") && stderr.contains("the application runs without this claim"), stderr);
        }
        try (Dialog program = start(jdk, null)) {
            String refused = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"" + STEP + "\",\"pin\":true}");
            assertTrue(refused.contains("\"code\":\"not-configured\""), refused);
            assertEquals("", end(program));
        }
    }

    private Path write(String name, String text) throws IOException {
        Path file = Files.writeString(directory.resolve(name), text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-r--r--"));
        return file;
    }

    private Dialog start(Jdk jdk, String claimsFile) throws IOException {
        String table = claimsFile == null ? "" : "[claims]\nfile = \"" + claimsFile + "\"\n";
        for (String written : List.of("trace.jfr", "stats.json")) {
            Files.deleteIfExists(directory.resolve(written));
        }
        AgentConfig config = AgentConfig.of(table + "[[rule]]\nclass = \"other.**\"\n").ungoverned();
        return Program.target(jdk, "targets.Conversation").with("-Xverify:all").talkWithAgent(config, directory);
    }

    private static Finished instr(String verb, Dialog program, String... arguments) {
        List<String> all = new ArrayList<>(List.of(verb, String.valueOf(program.pid())));
        all.addAll(List.of(arguments));
        return Tool.instr(all);
    }

    /** Ends the program, and returns what it wrote to standard error. */
    private static String end(Dialog program) {
        program.send("quit");
        return program.finish().assertExitCode(0).stderr();
    }
}
