package io.instr.jvmtests.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** The results of a run. */
public record Finished(int exitCode, String stdout, String stderr, Path directory, List<String> command) {

    /** The files of a run in this directory, without its output: of a program that has been talked with, or that still runs. */
    public static Finished in(Path directory) {
        return new Finished(0, "", "", directory, List.of());
    }

    /** The agent must not show: same output, nothing more on standard error, same exit code. */
    public Finished assertBehavesLike(Finished plain) {
        String where = "\n" + String.join(" ", command) + "\nin " + directory;
        assertEquals(plain.stdout, stdout, "standard output" + where);
        assertEquals(plain.stderr, ownStderr(), "standard error" + where);
        assertEquals(plain.exitCode, exitCode, "exit code" + where);
        return this;
    }

    /** Standard error without the agent's line that the trace file is full: tests that record every call of much code limit its size. */
    public String ownStderr() {
        return stderr.replaceAll("(?m)^instr: .* is full \\(max-file-mb = .*\\R", "");
    }

    public Finished assertExitCode(int expected) {
        assertEquals(expected, exitCode, "exit code of " + String.join(" ", command) + "\nstdout: " + stdout + "\nstderr: " + stderr);
        return this;
    }

    /** The recording that the agent wrote. */
    public Trace trace() {
        return Trace.read(directory.resolve("trace.jfr"));
    }

    /** The figures that the agent wrote at the end. */
    public Stats stats() {
        return Stats.read(directory.resolve("stats.json"));
    }

    /** The program's own count of calls: lines {@code calls targets.Hello.greet 3}. */
    public Map<String, Long> ownCounts() {
        Map<String, Long> counts = new TreeMap<>();
        stdout.lines().filter(line -> line.startsWith("calls ")).forEach(line -> {
            String[] words = line.split(" ");
            counts.put(words[1], Long.parseLong(words[2]));
        });
        return counts;
    }

    /** The rest of the line that begins with this word. */
    public String line(String word) {
        return stdout.lines()
                .filter(line -> line.startsWith(word + " "))
                .map(line -> line.substring(word.length() + 1))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no line `" + word + " ...` in:\n" + stdout + "\nstderr: " + stderr));
    }
}
