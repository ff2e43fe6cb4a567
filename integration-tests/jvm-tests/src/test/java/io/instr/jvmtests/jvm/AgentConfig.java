package io.instr.jvmtests.jvm;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A configuration file as a user writes it. The trace and the figures go into the directory of the run, small methods
 * are not left out, and the programs' own counting is never instrumented.
 */
public record AgentConfig(String fileName, String text) {

    private static final String HEAD = """
            [trace]
            file = "trace.jfr"
            %s
            [agent]
            stats = "stats.json"
            %s
            [filter]
            leaf = false
            max-bytes = 0

            [exclude]
            class = "targets.Calls"

            """;

    /** Rules, each beginning with {@code [[rule]]}. */
    public static AgentConfig of(String rules) {
        return of("", "", rules);
    }

    /** Rules and further lines for {@code [trace]} and {@code [agent]}. */
    public static AgentConfig of(String traceLines, String agentLines, String rules) {
        return new AgentConfig("instr.toml", HEAD.formatted(traceLines, agentLines) + rules);
    }

    /**
     * The same without a governor: probes of rules at level time and full keep this level. For tests that count calls, as a governor may
     * lower a method meanwhile.
     */
    public AgentConfig ungoverned() {
        int filter = text.indexOf("[filter]\n");
        if (filter < 0 || text.contains("[governor]") || text.contains("live = true")) {
            throw new IllegalStateException("the configuration says itself what is governed: " + text);
        }
        return new AgentConfig(fileName, text.substring(0, filter) + "[governor]\nenabled = false\n" + text.substring(filter));
    }

    /** Every method of these classes at level time. */
    public static AgentConfig timed(String... classes) {
        return atLevel("time", classes);
    }

    /** Every method of these classes. */
    public static AgentConfig atLevel(String level, String... classes) {
        String list = String.join("\", \"", List.of(classes));
        return of("""
                [[rule]]
                class = ["%s"]
                template = "timed"
                level = "%s"
                constructors = true
                """.formatted(list, level));
    }

    /** The whole text, for tests of what the agent says about it. */
    public static AgentConfig verbatim(String text) {
        return new AgentConfig("instr.toml", text);
    }

    public Path writeTo(Path directory) {
        try {
            return Files.writeString(directory.resolve(fileName), text);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
