package io.instr.jvmtests.jvm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/** A running child. All are known here, so that none is forgotten. */
public final class JvmProcess implements AutoCloseable {

    /** Far more than any run needs, also on a busy machine: it only ends what hangs. */
    public static final Duration LIMIT = Duration.ofMinutes(5);

    private static final Set<JvmProcess> RUNNING = ConcurrentHashMap.newKeySet();

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(JvmProcess::killAll, "kill children"));
    }

    private final Process process;
    private final Path directory;
    private final List<String> command;

    private JvmProcess(Process process, Path directory, List<String> command) {
        this.process = process;
        this.directory = directory;
        this.command = command;
    }

    /** Starts a command in a directory; standard error, and output unless it is piped, go to files there. */
    static JvmProcess start(List<String> command, Path directory, boolean pipedOutput) {
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectError(directory.resolve("stderr").toFile());
        if (!pipedOutput) {
            builder.redirectOutput(directory.resolve("stdout").toFile());
        }
        // What the surroundings say about JVMs is not for these.
        builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS"));
        try {
            JvmProcess started = new JvmProcess(builder.start(), directory, command);
            RUNNING.add(started);
            return started;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Kills the processes that are still running, and returns their number. */
    static int killAll() {
        int alive = 0;
        for (JvmProcess child : RUNNING) {
            alive += child.process.isAlive() ? 1 : 0;
            child.close();
        }
        return alive;
    }

    public long pid() {
        return process.pid();
    }

    public boolean isRunning() {
        return process.isAlive();
    }

    /** Asks it to end, as an operator does. */
    public void terminate() {
        process.destroy();
    }

    /** Waits for the end and reads what the run left. */
    public Finished finish() {
        try {
            if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
                close();
                throw new AssertionError("still running after " + LIMIT + ", killed: " + describe());
            }
            RUNNING.remove(this);
            return new Finished(process.exitValue(), text("stdout"), text("stderr"), directory, command);
        } catch (InterruptedException e) {
            close();
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        process.onExit().join();
        RUNNING.remove(this);
    }

    BufferedReader output() {
        return process.inputReader(StandardCharsets.UTF_8);
    }

    Process process() {
        return process;
    }

    String describe() {
        return String.join(" ", command) + "\nin " + directory + "\nstdout: " + text("stdout") + "\nstderr: " + text("stderr");
    }

    private String text(String name) {
        try {
            Path file = directory.resolve(name);
            return Files.exists(file) ? Files.readString(file) : "";
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
