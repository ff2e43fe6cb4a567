package io.instr.jvmtests.hot;

import static io.instr.jvmtests.jvm.Awaiting.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;

/** {@code instr walk} that somebody ends while probes are there: it says why, none stays, and the program computes what it did before. */
@Tag("timed")
class WalkEndsIT {

    @EachJdk(oldestAndNewest = true, having = "jdb")
    void byAKillOfItsClient(Jdk jdk) throws IOException {
        walk(jdk, 1, "60000", (program, client) -> {
            client.process().destroyForcibly();
            await(() -> show(program), shown -> shown.contains("right(int): its client has left"));
            TwoHotMethods.assertNoProbeOfWalks(pid(program));
        });
    }

    @EachJdk(oldestAndNewest = true, having = "jdb")
    void byCtrlCOfItsClient(Jdk jdk) throws IOException {
        walk(jdk, 2, "4000", (program, client) -> {
            Tool.run("kill", List.of("-INT", String.valueOf(client.process().pid()))).assertExitCode(0);
            String found = client.printed(130);
            assertTrue(found.contains("level 1: callers of " + TwoHotMethods.named("right")), found);
            assertTrue(found.contains("ended: " + TwoHotMethods.named("right") + ": ended by you") && found.contains(", none is left; "), found);
            TwoHotMethods.assertNoProbeOfWalks(pid(program));
        });
    }

    @EachJdk(oldestAndNewest = true, having = "jdb")
    void byAPause(Jdk jdk) throws IOException {
        walk(jdk, 1, "60000", (program, client) -> {
            Tool.instr(List.of("pause", pid(program))).assertExitCode(0);
            String found = client.printed(0);
            assertTrue(found.contains("ended: " + TwoHotMethods.named("right") + ": all probes are paused: "), found);
            TwoHotMethods.assertNoProbeOfWalks(pid(program));
        });
    }

    @EachJdk(oldestAndNewest = true, having = "jdb")
    void byTheEndOfTheRecording(Jdk jdk) throws IOException {
        walk(jdk, 1, "60000", (program, client) -> {
            Tool.instr(List.of("stop", pid(program))).assertExitCode(0);
            String found = client.printed(0);
            assertTrue(found.contains("ended: " + TwoHotMethods.named("right") + ": the recording ended, or the agent was detached"), found);
            TwoHotMethods.assertNoProbeOfWalks(pid(program));
            // The end of a recording leaves classes as they are.
            Tool.instr(List.of("detach", pid(program))).assertExitCode(0);
        });
    }

    @EachJdk(oldestAndNewest = true, having = "jdb")
    void byADetach(Jdk jdk) throws IOException {
        walk(jdk, 1, "60000", (program, client) -> {
            Tool.instr(List.of("detach", pid(program))).assertExitCode(0);
            String found = client.printed(0);
            assertTrue(found.contains("ended: " + TwoHotMethods.named("right") + ": the recording ended, or the agent was detached"), found);
        });
    }

    /** Ends a walk. */
    private interface End {
        void of(Dialog program, Client client) throws IOException;
    }

    /** The command that walks, and its output. */
    private record Client(Process process, Path output) {
        String printed(int exitCode) throws IOException {
            int code = await(() -> process.isAlive() ? -1 : process.exitValue(), ended -> ended >= 0);
            String printed = Files.readString(output);
            assertEquals(exitCode, code, printed);
            return printed;
        }
    }

    /** Begins a walk, and has it ended while it measures this level, for so many milliseconds. */
    private static void walk(Jdk jdk, int level, String period, End end) throws IOException {
        Path directory = RunDirectories.create();
        LoadedBytes loaded = LoadedBytes.atFreePort();
        try (Dialog program = TwoHotMethods.start(jdk, directory, loaded)) {
            Map<String, String> original = loaded.methods();
            Client client = client(program, directory.resolve("walk.txt"), period);
            try {
                await(() -> show(program), shown -> shown.contains("measuring level 1"));
                assertNotEquals(original, loaded.methods(), "there are probes");
                await(() -> show(program), shown -> shown.contains("measuring level " + level));
                end.of(program, client);
            } finally {
                client.process().destroyForcibly();
            }
            assertEquals(original, loaded.methods(), "the bytecode after a walk is the original one");
            TwoHotMethods.assertUnharmed(program);
        }
    }

    private static Client client(Dialog program, Path output, String period) throws IOException {
        String instr = BuildResult.AGENT.path().resolveSibling("instr").toString();
        List<String> command = List.of(instr, "walk", pid(program), "--method", TwoHotMethods.named("right"), "--seconds", "1", "--period", period, "--calls", "100000000");
        ProcessBuilder client = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        return new Client(client.start(), output);
    }

    private static String pid(Dialog program) {
        return String.valueOf(program.pid());
    }

    private static String show(Dialog program) {
        return Tool.instr(List.of("walk", pid(program), "--show")).stdout();
    }
}
