package io.instr.jvmtests.figures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.JvmProcess;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** {@code instr top} beside a JVM, on a terminal that script(1) makes: what it shows, and that a key changes a level. */
class TopIT {

    private static final String STEP = "targets.Conversation.step";
    private static final String GIVES_THE_SCREEN_BACK = "\u001b[?1049l";

    @EachJdk(oldestAndNewest = true)
    void theScreenShowsTheMethodsAndAKeyChangesALevel(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, directory)) {
            program.ask("work 1000");
            try (Screen screen = new Screen(program.pid())) {
                program.ask("work 200000");
                screen.waitFor("Conversation.step");
                screen.type("/" + STEP + "\r");
                screen.waitFor("filter: ");
                // Down marks the method, `o` switches its probe off.
                screen.type("\u001b[Bo");
                screen.waitFor("is at level off now");
                screen.type("q");
                assertEquals(0, screen.end());
                assertTrue(screen.text().contains(GIVES_THE_SCREEN_BACK), screen.text());
            }
            program.ask("work 1000");
            String status = ControlSocket.status(program);
            assertTrue(status.contains("\"method\":\"" + STEP + "\",\"category\":\"catch-all\",\"level\":\"off\""), status);
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void theScreenEndsWithTheJvmAndNamesItsRecording(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, directory)) {
            program.ask("work 1000");
            try (Screen screen = new Screen(program.pid())) {
                screen.waitFor("Conversation.step");
                program.send("quit");
                program.finish().assertExitCode(0);
                assertEquals(0, screen.end());
                assertTrue(screen.text().contains("has ended; its recording: "), screen.text());
                assertTrue(screen.text().contains(GIVES_THE_SCREEN_BACK), screen.text());
            }
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aPipeGetsATableWithPercentiles(Jdk jdk) throws Exception {
        Path directory = RunDirectories.create();
        try (Dialog program = conversation(jdk, directory)) {
            program.ask("work 1000");
            // calls/s, then time/s, mean, p50, p99 and max with a unit each, level, method. Columns are blank if the work was over too soon.
            Awaiting.await(() -> tableDuringWork(program), table -> table.lines()
                    .anyMatch(line -> line.endsWith(STEP) && line.strip().split("\\s+").length == 13));
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    private static String tableDuringWork(Dialog program) throws InterruptedException {
        Thread worker = new Thread(() -> program.ask("work 3000000"));
        worker.start();
        String pid = String.valueOf(program.pid());
        String table = Tool.instr(List.of("top", "--once", "--interval", "0.3", pid)).assertExitCode(0).stdout();
        worker.join();
        return table;
    }

    private static Dialog conversation(Jdk jdk, Path directory) throws IOException {
        AgentConfig config = AgentConfig.of("""
                [control]
                live = true
                [governor]
                enabled = false
                [[rule]]
                class = "targets.Conversation"
                level = "time"
                """);
        return Program.target(jdk, "targets.Conversation").talkWithAgent(config, directory);
    }

    /** A terminal with {@code instr top} in it. */
    private static final class Screen implements AutoCloseable {

        private final Process process;
        private final Thread reader = new Thread(this::read);
        private final StringBuffer shown = new StringBuffer();

        Screen(long pid) throws IOException {
            Path instr = BuildResult.AGENT.path().resolveSibling("instr");
            String command = "stty rows 30 cols 120; TERM=xterm exec " + instr + " top --interval 0.2 " + pid;
            process = new ProcessBuilder("script", "--quiet", "--return", "--command", command, "/dev/null")
                    .redirectErrorStream(true)
                    .start();
            reader.setDaemon(true);
            reader.start();
        }

        private void read() {
            try (InputStream output = process.getInputStream()) {
                byte[] bytes = new byte[4096];
                for (int read = output.read(bytes); read > 0; read = output.read(bytes)) {
                    shown.append(new String(bytes, 0, read, StandardCharsets.UTF_8));
                }
            } catch (IOException e) {
                shown.append(e);
            }
        }

        String text() {
            return shown.toString();
        }

        void waitFor(String wanted) {
            Awaiting.await(this::text, text -> text.contains(wanted));
        }

        void type(String keys) throws IOException {
            process.getOutputStream().write(keys.getBytes(StandardCharsets.UTF_8));
            process.getOutputStream().flush();
        }

        int end() throws InterruptedException {
            assertTrue(process.waitFor(JvmProcess.LIMIT.toSeconds(), TimeUnit.SECONDS), () -> "still there: " + text());
            reader.join(JvmProcess.LIMIT.toMillis());
            return process.exitValue();
        }

        @Override
        public void close() {
            process.destroy();
        }
    }
}
