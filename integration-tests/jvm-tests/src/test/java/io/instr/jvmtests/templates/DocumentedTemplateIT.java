package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** The commands of docs/user/own-template take a template from source to report, as printed. */
class DocumentedTemplateIT {

    private static final Pattern BLOCK = Pattern.compile("(?ms)^```(sh|text)\\n(.*?)^```$");

    @EachJdk(from = 17, having = "javac", oldestAndNewest = true)
    void theCommandsTakeATemplateFromSourceToReport(Jdk jdk) throws IOException {
        Path checkout = BuildResult.CHECKOUT.path();
        String readme = Files.readString(checkout.resolve("docs/user/own-template/README.md"));
        String build = checkout.relativize(BuildResult.AGENT.path().getParent()).toString();
        String script = "set -e\ncd '" + checkout + "'\nexport JAVA_HOME='" + jdk.home() + "' PATH='" + jdk.home() + "/bin':\"$PATH\"\n"
                + blocks(readme, "sh").stream().collect(Collectors.joining()).replace("target/release", build);

        Finished run = Tool.run("bash", List.of("-c", script)).assertExitCode(0);

        List<String> shown = blocks(readme, "text");
        assertTrue(run.stdout().contains(shown.get(0)), () -> "not what the document shows:\n" + run.stdout());
        for (String line : shown.get(1).lines().skip(2).toList()) {
            String[] columns = line.strip().split("  +");
            assertTrue(
                    run.stdout().lines().anyMatch(printed -> printed.matches(".*  " + columns[1] + "  .*  \\Q" + columns[5] + "\\E")),
                    () -> "no line like `" + line + "` in\n" + run.stdout());
        }
    }

    private static List<String> blocks(String document, String kind) {
        return BLOCK.matcher(document).results().filter(block -> block.group(1).equals(kind)).map((MatchResult block) -> block.group(2)).toList();
    }
}
