package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Attachment;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** What a running program carries: {@code instr inventory}, {@code methods} and {@code explain --live}. */
class InventoryIT {

    private static final String STEP = "targets.Conversation.step";
    private static final String POSITION = "targets.Conversation.position";

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true)
    void aRunningProgramIsListedAsItsJarsAre(Jdk jdk) throws IOException {
        try (Dialog program = Program.target(jdk, "targets.Conversation").with("-XX:+EnableDynamicAgentLoading").talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            // Another loader has a class of the same name, which is not linked.
            assertEquals("twin load", program.ask("twin load"));
            Path config = Attachment.prepare(directory, "first", AgentConfig.of("""
                    [[rule]]
                    name = "steps"
                    class = "targets.Conversation"
                    method = ["step", "query"]
                    level = "time"
                    [[rule]]
                    name = "wrapped"
                    class = "targets.Conversation"
                    method = "fill"
                    level = "time"
                    mode = "wrapper"
                    [control]
                    live = true
                    [governor]
                    enabled = false
                    """));
            assertEquals(0, instr("attach", program, config.toString()).exitCode());

            List<String> live = ofConversation(instr("inventory", program, "--methods"));
            List<String> beforehand = ofConversation(Tool.instr(
                    List.of("inventory", "--config", config.toString(), "--methods", BuildResult.TARGETS.path().toString())));
            List<String> onlyLive = live.stream().filter(line -> !beforehand.contains(line)).toList();
            assertEquals(List.of(
                    "yes targets.Conversation: 2 of " + (live.size() - 1) + " methods (rule steps)",
                    "no  targets.Conversation.fill(int) int: mode \"wrapper\": the class was loaded before, and the JVM adds no methods"
                            + " to a loaded class; use mode = \"inline\""), onlyLive);
            assertTrue(beforehand.contains("yes targets.Conversation.fill(int) int: timed at level time, wrapper (rule wrapped)"));
            assertEquals(beforehand.size(), live.size(), "all else by the configuration is as in the JVM");
            String json = instr("inventory", program, "--json").stdout();
            assertTrue(json.contains("{\"class\":\"targets.Conversation\",\"state\":\"instrumented\",\"jar\":"), json);
            assertTrue(json.contains("\"loaders\":2"), json);

            List<String> targets = instr("inventory", program, "--classes", "targets.**").stdout().lines().toList();
            long classes = targets.stream().filter(line -> !line.startsWith("#")).count();
            assertTrue(targets.contains("# " + BuildResult.TARGETS.path().getFileName() + ": 1 of " + classes + " classes"), "classes that no rule wants count, too: " + targets);

            List<String> capped = comments(instr("inventory", program, "--most", "1"));
            assertTrue(capped.get(0).startsWith("# 1 of 1 class instrumented") && capped.get(capped.size() - 1).matches("# \\d+ classes not listed; .*`--most`.*"), capped.toString());

            Files.writeString(config, Files.readString(config).replace("[\"step\", \"query\"]", "[\"step\", \"work\"]"));
            instr("reload", program).assertExitCode(0);
            List<String> reloaded = ofConversation(instr("inventory", program, "--methods"));
            assertTrue(reloaded.contains("no  targets.Conversation.query(java.lang.String) int: no rule takes it"), reloaded.toString());
            assertTrue(reloaded.contains("yes targets.Conversation.work(int) long: timed at level time, inline (rule steps)"), reloaded.toString());
            assertEquals(2, reloaded.stream().filter(line -> line.contains(" at level time")).count(), reloaded.toString());

            instr("probe", program, POSITION, "--for", "10m");
            instr("level", program, STEP, "off");
            assertEquals(List.of(
                    POSITION + "()I: timed [catch-all] at level time (claim 1)",
                    STEP + "(I)J: timed [catch-all] at level off (claim 2, rule steps)",
                    "targets.Conversation.work(I)J: timed [catch-all] at level time (rule steps)",
                    "# 3 probes"), instr("methods", program).stdout().lines().toList());
            assertEquals(List.of("# 3 probes", "# 2 not listed; `--most 3` lists all"), comments(instr("methods", program, "--most", "1")));
            assertEquals(1, instr("methods", program, "category:database").exitCode());
            assertEquals(List.of("# 3 probes"), comments(instr("methods", program, "targets.Conv*")), "a pattern of classes means all their methods");

            String position = instr("explain", program, POSITION).stdout();
            assertTrue(position.contains("\n  yes " + POSITION + "() int: timed at level time, inline (claim 1)\n"), position);
            assertTrue(position.contains("\n      no  steps: no pattern of `method` matches\n"), position);
            assertTrue(position.contains("the class is not linked yet: it gets its probes when it is"), position);
            String step = instr("explain", program, STEP).stdout();
            assertTrue(step.contains("\n  yes " + STEP + "(int) long: timed at level time, inline (rule steps), at level off now\n"), step);
            String steps = instr("explain", program, "targets.*.step").stdout();
            assertTrue(steps.contains(step) && steps.contains("class loader targets.Twin$Loader") && !steps.contains("class targets.Twin"), steps);
            instr("probe", program, "java.io.File.compareTo").assertExitCode(0);
            String overloads = instr("explain", program, "java.io.File.compareTo").stdout();
            assertTrue(overloads.contains("  yes java.io.File.compareTo(java.io.File) int: timed at level time, inline (claim 3)\n"
                    + "  no  java.io.File.compareTo(java.lang.Object) int: claim 3 leaves it out: a bridge only forwards\n"), overloads);
            Finished unknown = instr("explain", program, "targets.Nobody.act");
            assertEquals(1, unknown.exitCode());
            assertTrue(unknown.stderr().startsWith("error: no loaded class is named targets.Nobody.act"), unknown.stderr());
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static Finished instr(String verb, Dialog program, String... further) {
        List<String> line = new ArrayList<>(List.of(verb));
        if (verb.equals("explain")) {
            line.add("--live");
        }
        line.add(String.valueOf(program.pid()));
        line.addAll(List.of(further));
        return Tool.instr(line);
    }

    private static List<String> ofConversation(Finished inventory) {
        return inventory.stdout().lines().filter(line -> line.matches("(yes|no ) targets\\.Conversation[:.].*")).toList();
    }

    private static List<String> comments(Finished run) {
        return run.stdout().lines().filter(line -> line.startsWith("#")).toList();
    }
}
