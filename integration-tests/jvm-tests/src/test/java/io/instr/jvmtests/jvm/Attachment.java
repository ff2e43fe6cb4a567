package io.instr.jvmtests.jvm;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/** Attaches the agent to a running program and detaches it; the files of each attached period are in a directory of their own. */
public final class Attachment {

    private Attachment() {}

    /** The file with this configuration, in a new directory that trace and figures go into: the program's own is another. */
    public static Path prepare(Path parent, String name, AgentConfig config) {
        try {
            Path directory = Files.createDirectory(parent.resolve(name));
            String text = config.text()
                    .replace("\"trace.jfr\"", "\"" + directory.resolve("trace.jfr") + "\"")
                    .replace("\"stats.json\"", "\"" + directory.resolve("stats.json") + "\"");
            return Files.writeString(directory.resolve(config.fileName()), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Returns the files that the attached period of this name has written. */
    public static Finished leftBehind(Path parent, String name) {
        return Finished.in(parent.resolve(name));
    }

    /** Begins an attached period. */
    public static void attach(Jdk jdk, Dialog program, Path configuration) {
        load(jdk, program, configuration.toString());
    }

    /** Ends it. */
    public static void detach(Jdk jdk, Dialog program) {
        load(jdk, program, "detach");
    }

    private static void load(Jdk jdk, Dialog program, String options) {
        // jcmd takes the quotes away once more. By default it waits ten seconds for the threads of the JVM that answer it.
        List<String> command = List.of("-J-Dsun.tools.attach.attachTimeout=" + JvmProcess.LIMIT.toMillis(), String.valueOf(program.pid()),
                "JVMTI.agent_load", BuildResult.AGENT.path().toString(), "\"" + options + "\"");
        Finished answer = Tool.run(jdk, "jcmd", command).assertExitCode(0);
        assertTrue(answer.stdout().contains("return code: 0"), answer.stdout() + answer.stderr());
    }
}
