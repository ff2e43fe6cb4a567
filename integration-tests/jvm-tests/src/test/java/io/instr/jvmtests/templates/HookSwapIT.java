package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** One place in a running program, and what is called there: two routines at once, then another, then none. */
class HookSwapIT {

    private static final String NOTHING = "sum 1";

    @EachJdk(having = "jcmd")
    void routinesAtOnePlaceAreSwappedWhileTheProgramRuns(Jdk jdk) throws IOException {
        Path directory = RunDirectories.create();
        Path jar = UserTemplatesIT.templatesFrom("good");
        try (Dialog program = Program.target(jdk, "targets.Conversation")
                .with("-XX:+EnableDynamicAgentLoading", "-Xverify:all")
                .talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            assertEquals(List.of(NOTHING), work(program, 1));

            Attachment.attach(jdk, program, config(directory, jar, "both", "\"outer\", \"inner\""));
            assertEquals(List.of("# outer in", "# inner in", "# inner out", "# outer out", NOTHING), work(program, 5));

            Attachment.detach(jdk, program);
            Attachment.attach(jdk, program, config(directory, jar, "other", "\"inner\""));
            assertEquals(List.of("# inner in", "# inner out", NOTHING), work(program, 3));

            Attachment.detach(jdk, program);
            assertEquals(List.of(NOTHING), work(program, 1));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** What the program says to two steps of work, which the hook is around. */
    private static List<String> work(Dialog program, int lines) {
        List<String> said = new ArrayList<>(List.of(program.ask("work 2")));
        while (said.size() < lines) {
            said.add(program.next());
        }
        return said;
    }

    private static Path config(Path parent, Path jar, String name, String templates) {
        String rules = """
                [[rule]]
                class = "targets.Conversation"
                method = "work"
                template = [%s]
                level = "time"
                """.formatted(templates);
        return Attachment.prepare(parent, name, AgentConfig.of("", "templates = [\"" + jar + "\"]", rules).ungoverned());
    }
}
