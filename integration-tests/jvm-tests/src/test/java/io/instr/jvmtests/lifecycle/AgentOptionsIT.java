package io.instr.jvmtests.lifecycle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The smaller promises of the configuration. */
class AgentOptionsIT {

    /** More than the chunk that describes the process. */
    private static final long A_CHUNK_OF_CALLS = 20_000;

    private static final int CHUNK_SIZE_OFFSET = 8;

    private static final String RULE = """
            [[rule]]
            class = "targets.Hello"
            level = "time"
            """;

    @EachJdk
    void withoutAFileNameTheTraceIsNamedAfterTheProcess(Jdk jdk) throws IOException {
        Finished run = Program.target(jdk, "targets.Hello").compare(AgentConfig.verbatim(RULE));
        try (Stream<Path> files = Files.list(run.directory())) {
            List<String> traces = files.map(file -> file.getFileName().toString()).filter(name -> name.endsWith(".jfr")).toList();
            assertEquals(1, traces.size(), traces + "");
            assertTrue(traces.get(0).matches("instr-\\d+\\.jfr"), traces + "");
        }
    }

    @EachJdk
    void discardComputesEverythingAndChangesNothing(Jdk jdk) {
        Finished run = Program.target(jdk, "targets.Hello").compare(AgentConfig.of("", "discard = true", RULE));
        assertEquals(1, run.stats().figure("classes_rewritten"));
        assertFalse(Files.exists(run.directory().resolve("trace.jfr")) && run.trace().calls().size() > 0, "calls were recorded");
    }

    @EachJdk
    void theLogGoesToStandardError(Jdk jdk) {
        Program program = Program.target(jdk, "targets.Hello");
        Finished run = program.withAgent(AgentConfig.of("", "log = \"debug\"", RULE)).assertExitCode(0);
        assertEquals(program.withoutAgent().stdout(), run.stdout());
        String insertion = "targets\\.Hello\\.greet\\(ILjava/lang/String;\\)Ljava/lang/String;: timed, \\d+ -> \\d+ bytes \\(\\+\\d+\\), 1 pass";
        assertTrue(run.stderr().lines().anyMatch(line -> line.matches(".*" + insertion)), () -> "no insertion in:\n" + run.stderr());
    }

    @EachJdk
    void aFullDiskIsReportedOnce(Jdk jdk) {
        Program program = Program.target(jdk, "targets.Hello");
        String config = "[trace]\nfile = \"/dev/full\"\n" + RULE;
        Finished run = program.withAgent(AgentConfig.verbatim(config)).assertExitCode(0);
        assertEquals(program.withoutAgent().stdout(), run.stdout());
        assertTrue(run.stderr().contains("/dev/full"), run.stderr());
        assertTrue(run.stderr().lines().count() <= 3, run.stderr());
    }

    /** What a crash leaves: all chunks that were written, in a file that every tool can read. */
    @EachJdk
    void aKilledProcessLeavesAReadableTrace(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Files.writeString(directory.resolve("instr.toml"), AgentConfig.timed("targets.Conversation").ungoverned().text());
        Path file = directory.resolve("trace.jfr");
        Program program = Program.target(jdk, "targets.Conversation");
        try (Dialog dialog = program.talk(List.of(Program.agentOption("instr.toml")), directory)) {
            assertEquals("ready", dialog.next());
            Awaiting.await(() -> {
                dialog.ask("work 2000");
                return lengthOfWholeChunks(file);
            }, length -> length >= A_CHUNK_OF_CALLS);
        }
        Trace trace = new Finished(137, "", "", directory, List.of()).trace();
        assertTrue(trace.count("targets.Conversation.step") > 0, trace.counts() + "");
    }

    /** The length of the file, or 0 while it does not end with a chunk: then a chunk is just being written. */
    private static long lengthOfWholeChunks(Path file) throws IOException {
        if (!Files.exists(file)) {
            return 0;
        }
        try (RandomAccessFile chunks = new RandomAccessFile(file.toFile(), "r")) {
            long position = 0;
            while (position + CHUNK_SIZE_OFFSET + Long.BYTES <= chunks.length()) {
                chunks.seek(position + CHUNK_SIZE_OFFSET);
                position += chunks.readLong();
            }
            return position == chunks.length() ? position : 0;
        }
    }
}
