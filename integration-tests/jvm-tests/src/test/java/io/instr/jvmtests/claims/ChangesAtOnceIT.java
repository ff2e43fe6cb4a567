package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Predicate;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Tag;

/**
 * Persons and the governor change what is instrumented at the same time, while classes are loaded and the agent is detached and attached
 * again: each change is in force once it is answered, none is lost, and none stays. The program computes what it always does.
 */
class ChangesAtOnceIT {

    /** How often the agent is detached at least; in each attached period everybody makes at least one change. */
    private static final int FEWEST = 3;
    /** Everybody makes more changes in some attached periods than in others, up to this number. */
    private static final int MOST_PER_PERIOD = 3;
    private static final int STEPS = 10_000;
    private static final Pattern CLAIM = Pattern.compile("\"claim\":(\\d+)");
    private static final Pattern LOWERED = Pattern.compile("\"([^\"]* targets\\.Conversation\\.step (?:set to (?:watch|time): |lost its probe)[^\"]*)\"");
    private static final String RELOAD = "{\"ask\":\"reload\"}";
    /** Each person changes a method that nobody else changes; {@code step} is changed by all. */
    private static final List<String> RULES = List.of(
            rule("step", "full") + rule("fill", "full") + rule("position", "watch"),
            rule("step", "time") + rule("fill", "full"));

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true, having = "jdb")
    void whatIsLeftIsWhatTheLastChangesSay(Jdk jdk) throws Exception {
        changeAtOnce(jdk, Duration.ofSeconds(5));
    }

    @EachJdk(having = "jdb")
    @Tag("soak")
    void manyChanges(Jdk jdk) throws Exception {
        changeAtOnce(jdk, Duration.ofSeconds(60));
    }

    private void changeAtOnce(Jdk jdk, Duration length) throws Exception {
        write(RULES.get(0));
        LoadedBytes loaded = LoadedBytes.atFreePort();
        Program target = Program.target(jdk, "targets.Conversation").with("-XX:+EnableDynamicAgentLoading", "-Xverify:all", loaded.option());
        try (Dialog program = target.talk(List.of(), directory)) {
            assertEquals("ready", program.next());
            Work work = new Work(program);
            Map<String, String> original = loaded.methods();
            Changes changes = new Changes(program, work, length);
            try {
                List<Future<Void>> all = changes.begin();
                while (!changes.haveEnded()) {
                    work.work(changes);
                }
                for (Future<Void> one : all) {
                    one.get();
                }
            } finally {
                changes.abort();
            }
            System.out.println("changes at once, " + jdk + ": " + changes.counts());
            assertNothingIsLeft(program, work);
            instr("detach", program);
            Map<String, String> left = loaded.methods();
            left.entrySet().removeAll(original.entrySet());
            assertEquals(Map.of(), left, "every body is the program's own again");
            work.work();
            program.send("quit");
            assertEquals("", unexpected(program.finish().assertExitCode(0).stderr()));
            assertOneBatchAtATime(changes.periods());
        }
    }

    /** Everybody has taken back what they changed: nothing of it is in force, and a rule that is added then is. */
    private void assertNothingIsLeft(Dialog program, Work work) throws IOException {
        write("");
        assertTrue(ControlSocket.ask(program, RELOAD).contains("\"rules\":0,"));
        assertEquals("{\"claims\":[]}", ControlSocket.ask(program, "{\"ask\":\"claims\"}").trim());
        assertEquals(work.position, work.ask("position"), "every body is the program's own again");
        String status = ControlSocket.status(program);
        assertTrue(status.contains("\"live\":[]"), status);
        assertEquals(0, (long) ControlSocket.number(status.substring(status.indexOf("\"retransforms\"")), "rejected"), status);
        write(rule("step", "time") + "governed = false\n");
        assertTrue(ControlSocket.ask(program, RELOAD).contains("\"classes_changed\":1,"));
        long before = ControlSocket.calls(ControlSocket.status(program));
        program.ask("work 500");
        ControlSocket.awaitCalls(program, before + 500);
    }

    /** Without the names of earlier recordings, and without the warning that persons set levels whose cost is above the budget. */
    private static String unexpected(String stderr) {
        return stderr.replaceAll("(?m)^(instr: .* kept as |\\S+ +WARN probes that the governor does not lower ).*\\R", "");
    }

    /** In the recording of each attached period. */
    private void assertOneBatchAtATime(int periods) throws IOException {
        int recordings = 0;
        int batches = 0;
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "trace*.jfr")) {
            for (Path file : files) {
                List<RecordedEvent> inOrder = batchesOf(file);
                for (int i = 1; i < inOrder.size(); i++) {
                    RecordedEvent before = inOrder.get(i - 1);
                    RecordedEvent event = inOrder.get(i);
                    assertTrue(!event.getStartTime().isBefore(before.getEndTime()), () -> before + " overlaps " + event);
                }
                recordings++;
                batches += inOrder.size();
            }
        }
        assertEquals(periods, recordings, "each attached period has its recording");
        assertTrue(batches > 2 * periods, batches + " batches in " + periods + " periods");
    }

    /** Without those of classes that are being linked: the threads retransform them that link them. */
    private static List<RecordedEvent> batchesOf(Path file) throws IOException {
        List<RecordedEvent> batches = new ArrayList<>();
        try (RecordingFile recording = new RecordingFile(file)) {
            while (recording.hasMoreEvents()) {
                RecordedEvent event = recording.readEvent();
                if (event.getEventType().getName().equals("instr.Retransform") && !event.getString("reason").equals("linked")) {
                    batches.add(event);
                }
            }
        }
        batches.sort(Comparator.comparing(RecordedEvent::getStartTime));
        return batches;
    }

    /** What the program computes meanwhile, with the results that it must have. */
    private static final class Work {
        private static final long SUM = sum();

        private final Dialog program;
        private final String position;
        private long nextTwin = System.nanoTime();

        Work(Dialog program) {
            this.program = program;
            position = ask("position");
            loadTwin();
        }

        /** The program answers one question after the other, from any thread. */
        synchronized String ask(String question) {
            return program.ask(question);
        }

        void work() {
            assertEquals("sum " + SUM, ask("work " + STEPS));
            assertEquals("failed 3", ask("fail 3"));
            assertEquals("length 3", ask("query abc"));
            assertEquals("size 100", ask("map 100"));
        }

        /** The same; and while the agent is detached, the bodies are those of the program. */
        void work(Changes changes) {
            work();
            int stage = changes.stage();
            String now = ask("position");
            if (Changes.isDetached(stage) && changes.stage() == stage) {
                assertEquals(position, now, "the agent is detached");
                changes.noteDetached(stage);
            }
            // Ten times a second another class of this name is defined and linked; a claim takes at most 1,000 of them.
            if (System.nanoTime() - nextTwin >= 0) {
                loadTwin();
                nextTwin += 100_000_000;
            }
        }

        private void loadTwin() {
            assertEquals("twin load", ask("twin load"));
            assertEquals("twin link", ask("twin link"));
        }

        private static long sum() {
            long sum = 0;
            for (long i = 0; i < STEPS; i++) {
                sum += i * i % 7;
            }
            return sum;
        }
    }

    /** One change, by the number of those that were made before; it fails unless the change is in force afterwards. */
    private interface Change {
        void make(int number) throws Exception;
    }

    /** Everybody who makes changes, each on a thread of its own. */
    private final class Changes {
        private static final int DETACHED = 0;
        private static final int ATTACHED = 2;
        private static final int STAGES = 4;

        private final Dialog program;
        private final Work work;
        private final long end;
        private final List<String> names = List.of("reloads", "claims", "levels", "governor");
        private final List<Change> kinds = List.of(this::reload, this::claim, this::level, this::awaitGovernor);
        private final ExecutorService threads = Executors.newFixedThreadPool(kinds.size() + 1);
        /** Changes of each kind, in this attached period and in all. */
        private final List<AtomicInteger> inPeriod = kinds.stream().map(kind -> new AtomicInteger()).toList();
        private final List<AtomicInteger> made = kinds.stream().map(kind -> new AtomicInteger()).toList();
        /** Modulo 4: detached, is being attached, attached, is being detached. */
        private final AtomicInteger stage = new AtomicInteger(DETACHED);
        /** The program was looked at in this stage. */
        private volatile int seenDetached = -1;
        private volatile boolean isOver;
        /** Decisions that the governor has made. */
        private final Set<String> lowered = new HashSet<>();

        Changes(Dialog program, Work work, Duration length) {
            this.program = program;
            this.work = work;
            end = System.nanoTime() + length.toNanos();
        }

        List<Future<Void>> begin() {
            List<Future<Void>> all = new ArrayList<>();
            all.add(threads.submit(() -> untilOver(this::attachAndDetach)));
            for (int kind = 0; kind < kinds.size(); kind++) {
                int one = kind;
                all.add(threads.submit(() -> untilOver(() -> keepChanging(one))));
            }
            threads.shutdown();
            return all;
        }

        boolean haveEnded() {
            return threads.isTerminated();
        }

        void abort() {
            isOver = true;
            threads.shutdownNow();
        }

        int stage() {
            return stage.get();
        }

        static boolean isDetached(int stage) {
            return stage % STAGES == DETACHED;
        }

        void noteDetached(int stage) {
            seenDetached = stage;
        }

        int periods() {
            return stage.get() / STAGES + 1;
        }

        String counts() {
            StringBuilder counts = new StringBuilder(periods() + " attached periods");
            for (int kind = 0; kind < kinds.size(); kind++) {
                counts.append(", ").append(made.get(kind)).append(' ').append(names.get(kind));
            }
            return counts.toString();
        }

        /** If one fails, all end. */
        private Void untilOver(Step step) throws Exception {
            try {
                step.run();
                return null;
            } catch (Exception | AssertionError failed) {
                isOver = true;
                throw failed;
            }
        }

        /** The agent stays attached after the last period. */
        private void attachAndDetach() {
            for (int before = 0; !isOver; before++) {
                stage.incrementAndGet();
                instr("attach", program, directory.resolve("instr.toml").toString());
                inPeriod.forEach(count -> count.set(0));
                stage.incrementAndGet();
                int enough = 1 + before % MOST_PER_PERIOD;
                await(() -> inPeriod.stream().allMatch(count -> count.get() >= enough));
                if (before >= FEWEST && System.nanoTime() - end >= 0) {
                    isOver = true;
                    return;
                }
                stage.incrementAndGet();
                instr("detach", program);
                int detached = stage.incrementAndGet();
                await(() -> seenDetached == detached);
            }
        }

        /** Whatever fails because the agent was detached meanwhile does not count. */
        private void keepChanging(int kind) throws Exception {
            for (int number = 0; !isOver; number++) {
                await(() -> stage.get() % STAGES == ATTACHED);
                int during = stage.get();
                try {
                    kinds.get(kind).make(number);
                } catch (Exception | AssertionError failed) {
                    if (stage.get() == during && !isOver) {
                        throw failed;
                    }
                    continue;
                }
                if (stage.get() == during) {
                    inPeriod.get(kind).incrementAndGet();
                    made.get(kind).incrementAndGet();
                }
            }
        }

        private void reload(int number) throws Exception {
            boolean takesPosition = number % 2 == 0;
            write(RULES.get(number % 2));
            String answer = ControlSocket.ask(program, RELOAD);
            assertTrue(answer.contains("\"generation\":"), answer);
            // The frame of a method says whether it has a probe.
            Predicate<String> wanted = position -> position.equals(work.position) != takesPosition;
            assertInForce(answer, () -> work.ask("position"), wanted);
        }

        private void claim(int number) throws Exception {
            String methods = number % 2 == 0 ? "query" : "s*";
            String answer = ControlSocket.ask(program, "{\"ask\":\"probe\",\"methods\":\"targets.Conversation." + methods + "\",\"seconds\":600}");
            Matcher claim = CLAIM.matcher(answer);
            assertTrue(claim.find(), answer);
            String wanted = "\"claim " + claim.group(1) + "\"";
            String method = number % 2 == 0 ? "query" : "step";
            assertListed(answer, method, rows -> rows.stream().anyMatch(row -> row.contains(wanted)));
            String removed = ControlSocket.ask(program, "{\"ask\":\"remove\",\"claim\":" + claim.group(1) + "}");
            assertTrue(removed.contains("\"claim\":" + claim.group(1)), removed);
            assertListed(removed, method, rows -> number % 2 == 0 ? rows.isEmpty() : rows.stream().noneMatch(row -> row.contains(wanted)));
        }

        private void level(int number) throws Exception {
            String method = number % 2 == 0 ? "fill" : "step";
            for (String level : List.of("off", "full")) {
                String set = ControlSocket.level(program, "targets.Conversation." + method, level);
                assertListed(set, method, rows -> rows.stream().anyMatch(row -> row.contains("\"level\":\"" + level + "\"") && row.contains("\"claim ")));
            }
            String handedBack = ControlSocket.level(program, "targets.Conversation." + method, "auto");
            if (method.equals("fill")) {
                assertListed(handedBack, method, rows -> rows.stream().allMatch(row -> row.contains("\"level\":\"full\"") && !row.contains("\"claim ")));
            }
        }

        /** The method that is called most is lowered or loses its probe once more. */
        private void awaitGovernor(int number) {
            int during = stage.get();
            Awaiting.await(() -> LOWERED.matcher(ControlSocket.status(program)).results().map(line -> during + line.group(1)).toList(),
                    lines -> lowered.addAll(lines) || isOver || stage.get() != during);
        }

        /** Only classes whose code runs in a loop may get their probes later; the answer lists them. */
        private <T> void assertInForce(String answer, Callable<T> question, Predicate<T> wanted) throws Exception {
            int during = stage.get();
            T now = question.call();
            if (answer.contains("\"waiting\":[\"")) {
                now = Awaiting.await(question, later -> wanted.test(later) || isOver || stage.get() != during);
            }
            assertTrue(wanted.test(now), answer + "\n" + now);
        }

        private void assertListed(String answer, String method, Predicate<List<String>> wanted) throws Exception {
            assertInForce(answer, () -> listed(method), wanted);
        }

        /** The entries of this method: one for each class loader whose class has a probe there. */
        private List<String> listed(String method) {
            String all = ControlSocket.ask(program, "{\"ask\":\"methods\",\"methods\":\"targets.Conversation." + method + "\",\"most\":10000}");
            assertTrue(all.contains("\"done\":true"), all);
            Pattern row = Pattern.compile("\\{\"class\":\"targets.Conversation\",\"method\":\"" + method + "\",[^}]*}");
            return row.matcher(all).results().map(MatchResult::group).toList();
        }

        private void await(BooleanSupplier condition) {
            Awaiting.await(condition::getAsBoolean, is -> is || isOver);
        }
    }

    private interface Step {
        void run() throws Exception;
    }

    private static Finished instr(String verb, Dialog program, String... further) {
        List<String> line = new ArrayList<>(List.of(verb, String.valueOf(program.pid())));
        line.addAll(List.of(further));
        return Tool.instr(line).assertExitCode(0);
    }

    /** The probes are live, and 1 % of the CPU time is soon used up. */
    private static AgentConfig config(String rules) {
        return AgentConfig.of("[governor]\nbudget-percent = 1\n" + rules);
    }

    private static String rule(String method, String level) {
        return "[[rule]]\nclass = \"targets.Conversation\"\nmethod = \"" + method + "\"\nlevel = \"" + level + "\"\n";
    }

    /** All at once: the agent never reads half of it. */
    private void write(String rules) throws IOException {
        Path whole = Files.writeString(directory.resolve("next.toml"), config(rules).text());
        Files.move(whole, directory.resolve("instr.toml"), StandardCopyOption.ATOMIC_MOVE);
    }
}
