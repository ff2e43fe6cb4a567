package io.instr.jvmtests.jvm;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A program that answers each line with a line, and one that merely says when it is ready. */
public final class Dialog implements AutoCloseable {

    private final JvmProcess process;
    private final Writer input;
    private final BlockingQueue<String> lines = new LinkedBlockingQueue<>();

    Dialog(JvmProcess process) {
        this.process = process;
        this.input = process.process().outputWriter(StandardCharsets.UTF_8);
        Thread reader = new Thread(this::readLines, "output of " + process.pid());
        reader.setDaemon(true);
        reader.start();
    }

    public long pid() {
        return process.pid();
    }

    /** The next line of output. */
    public String next() {
        try {
            String line = lines.poll(JvmProcess.LIMIT.toSeconds(), TimeUnit.SECONDS);
            if (line == null) {
                process.close();
                throw new AssertionError("no line of output within " + JvmProcess.LIMIT + ": " + process.describe());
            }
            return line;
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Sends a line and waits for the answer. */
    public String ask(String line) {
        send(line);
        return next();
    }

    /** Sends a line that has no answer. */
    public void send(String line) {
        try {
            input.write(line + "\n");
            input.flush();
        } catch (IOException e) {
            throw new UncheckedIOException(process.describe(), e);
        }
    }

    public void terminate() {
        process.terminate();
    }

    /** Waits for the end. Standard output has been read line by line and is not in the result. */
    public Finished finish() {
        return process.finish();
    }

    @Override
    public void close() {
        process.close();
    }

    private void readLines() {
        try (BufferedReader output = process.output()) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                lines.add(line);
            }
        } catch (IOException ended) {
            // The process was killed; a thread that waits for a line notices it by the time limit or by its own wait.
        }
        lines.add("(end of output)");
    }
}
