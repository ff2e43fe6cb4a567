package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.ControlSocket;
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
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/** {@code instr callees}: what methods of a running program may call. */
class CalleesIT {

    private static final String SHOP = "targets.callees.Shop";
    private static final String SELL = SHOP + ".sell(int, String)";
    /** What the JVM may need besides, for threads and compiled code. */
    private static final int SLACK_KIB = 2_048;
    private static final int WARM_UP = 30;
    private static final String LIVE = """
            [[rule]]
            name = "nothing"
            class = "targets.Nobody"
            [control]
            live = true
            [governor]
            enabled = false
            """;

    @EachJdk(having = "javap")
    void oneLevelIsWhatJavapPrints(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, LIVE)) {
            List<String> expected = ofJavap(jdk);
            assertEquals(9, expected.size(), expected.toString());
            List<String> found = all(json(program, SELL)).filter(call -> !call.get("opcode").asText().equals("dynamic"))
                    .flatMap(CalleesIT::places)
                    .sorted()
                    .toList();
            assertEquals(expected, found);
            String retransforms = retransforms(program);
            JsonNode sell = json(program, SELL);
            assertEquals(retransforms, retransforms(program), "looking changes no class");
            assertEquals("none", callee(sell, SHOP, "price").get("state").asText());
            assertTrue(callee(sell, SHOP, "recall").get("reason").isNull(), "in a branch that no call takes");
            JsonNode lambda = callee(sell, SHOP, "lambda$sell$0");
            assertEquals("dynamic", lambda.get("opcode").asText());
            JsonNode added = callee(sell, "java.util.List", "add");
            assertEquals("abstract", added.get("code").asText());
            assertTrue(StreamSupport.stream(added.get("implementers").spliterator(), false)
                    .anyMatch(one -> one.get("class").asText().equals("java.util.ArrayList")), added.toString());
            JsonNode text = all(sell).filter(call -> call.get("class").asText().endsWith("StringConcatFactory")).findFirst().orElseThrow();
            assertEquals("bootstrap", text.get("code").asText(), text.toString());
            quit(program);
        }
    }

    @EachJdk
    void whatIsInsertedIsNoCallee(Jdk jdk) throws IOException {
        List<String> before;
        try (Dialog program = start(jdk, LIVE)) {
            before = edges(json(program, SELL, "--depth", "2"));
            quit(program);
        }
        // The values are boxed by methods that the program calls, too.
        for (String mode : List.of("inline", "wrapper")) {
            try (Dialog program = start(jdk, """
                    [[rule]]
                    name = "sales"
                    class = "targets.callees.Shop"
                    method = "sell"
                    level = "time"
                    mode = "%s"
                    arguments = "all"
                    [control]
                    live = true
                    """.formatted(mode))) {
                JsonNode sell = json(program, SELL, "--depth", "2");
                assertEquals("rule sales", sell.get("methods").get(0).get("wanted_by").get(0).asText(), sell.toString());
                assertEquals(before, edges(sell), mode);
                quit(program);
            }
        }
    }

    @EachJdk(oldestAndNewest = true)
    void levelsStatesImplementersAndOrigins(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, LIVE)) {
            instr("probe", program, SHOP + ".price", "--for", "10m").assertExitCode(0);
            instr("probe", program, SHOP + ".discount", "--for", "10m").assertExitCode(0);
            instr("level", program, SHOP + ".discount", "off").assertExitCode(0);
            JsonNode sell = json(program, SELL, "--depth", "3");
            JsonNode price = callee(sell, SHOP, "price");
            assertEquals(List.of("probed", "time", "claim 1"),
                    List.of(price.get("state").asText(), price.get("level").asText(), price.get("wanted_by").get(0).asText()));
            JsonNode discount = callee(sell, SHOP, "discount");
            assertEquals("inactive", discount.get("state").asText());
            assertEquals("none", callee(sell, SHOP, "recall").get("state").asText());

            JsonNode base = callee(price, SHOP, "base");
            assertEquals(List.of(SHOP + ".discount(int) long", SHOP + ".price(int) long"),
                    StreamSupport.stream(base.get("origins").spliterator(), false).map(JsonNode::asText).sorted().toList());
            JsonNode again = callee(discount, SHOP, "base");
            assertTrue(again.get("shown_elsewhere").asBoolean() && again.get("callees").isEmpty() && !base.get("shown_elsewhere").asBoolean());
            JsonNode rate = callee(base, SHOP, "rate");
            assertTrue(rate.get("callees").isEmpty(), "the third level is the last");
            JsonNode fourth = callee(json(program, SHOP + ".price", "--depth", "4"), SHOP, "base");
            JsonNode nanoTime = callee(callee(fourth, SHOP, "rate"), "java.lang.System", "nanoTime");
            assertEquals("native", nanoTime.get("code").asText());

            JsonNode load = callee(sell, "targets.callees.Store", "load");
            List<String> implementers = StreamSupport.stream(load.get("implementers").spliterator(), false)
                    .map(one -> one.get("class").asText())
                    .filter(name -> name.startsWith("targets.callees.Stores$"))
                    .toList();
            assertEquals(Stream.of("Cache", "Disk", "Memory").map(name -> "targets.callees.Stores$" + name).toList(), implementers);
            JsonNode memory = StreamSupport.stream(load.get("implementers").spliterator(), false)
                    .filter(one -> one.get("class").asText().endsWith("Memory")).findFirst().orElseThrow();
            assertEquals("read", memory.get("callees").get(0).get("method").asText(), load.toString());
            JsonNode two = callee(json(program, SELL, "--implementers", "2"), "targets.callees.Store", "load");
            assertEquals(List.of(2, 2), List.of(two.get("implementers").size(), two.get("more_implementers").asInt()));

            for (String opcode : List.of("virtual", "special", "static", "interface", "dynamic")) {
                long some = all(json(program, SELL, "--opcodes", opcode)).map(call -> call.get("opcode").asText()).filter(opcode::equals).count();
                long others = all(json(program, SELL, "--opcodes", opcode)).filter(call -> !call.get("opcode").asText().equals(opcode)).count();
                assertTrue(others == 0 && (some > 0 || opcode.equals("special")), opcode + " " + some + " " + others);
            }
            String tree = instr("callees", program, SELL, "--depth", "3").stdout();
            assertTrue(tree.startsWith("calls  method\n       " + SHOP + ".sell(int, java.lang.String) long [app"), tree);
            assertTrue(tree.contains("\n    0    1 static    " + SHOP + ".price(int) long: probed at level time (claim 1), line "), tree);
            assertTrue(tree.contains("\n           2 static    " + SHOP + ".base(int) long: no probe, line "), tree);
            assertTrue(tree.contains("\n    0    1 static    " + SHOP + ".discount(int) long: probe at level off"), tree);
            assertEquals(2, json(program, SHOP + ".sell").get("methods").size(), "all overloads");
            quit(program);
        }
    }

    @EachJdk
    void classesOfSeveralLoadersAndGeneratedOnes(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, LIVE)) {
            String count = "targets.callees.Parts.count";
            JsonNode both = json(program, count);
            assertEquals(2, both.get("methods").size());
            JsonNode ofApp = json(program, count, "--loader", "app");
            assertEquals(List.of("static", "dynamic"), List.of(
                    callee(json(program, "targets.callees.Parts.lambda$count$0"), "targets.callees.Parts", "halve").get("opcode").asText(),
                    callee(ofApp, "targets.callees.Parts", "lambda$count$0").get("opcode").asText()));
            JsonNode hidden = json(program, count, "--loader", "*.HidingLoader");
            assertEquals(1, hidden.get("methods").size());
            JsonNode unknown = callee(hidden, "targets.callees.Parts", "getAsInt");
            assertEquals("dynamic", unknown.get("code").asText(), "no class file, and the JVM does not show what the call leads to");

            String proxy = all(json(program, SELL, "--implementers", "100"))
                    .filter(call -> call.get("method").asText().equals("load"))
                    .flatMap(call -> StreamSupport.stream(call.get("implementers").spliterator(), false))
                    .map(call -> call.get("class").asText())
                    .filter(name -> name.contains("$Proxy"))
                    .findFirst().orElseThrow();
            JsonNode generated = json(program, proxy + ".load");
            assertEquals("interface", callee(generated, "java.lang.reflect.InvocationHandler", "invoke").get("opcode").asText());
            quit(program);
        }
    }

    @EachJdk(oldestAndNewest = true)
    void aSecondLookDecodesNothingUntilTheClassChanges(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, LIVE)) {
            JsonNode first = json(program, SELL, "--depth", "3");
            assertTrue(first.get("decoded").asInt() > 5 && first.get("known").asInt() == 0, first.toString());
            String retransforms = retransforms(program);
            JsonNode second = json(program, SELL, "--depth", "3");
            assertEquals(List.of(0, first.get("decoded").asInt()), List.of(second.get("decoded").asInt(), second.get("known").asInt()));
            assertEquals(first.get("callees"), second.get("callees"));
            assertEquals(retransforms, retransforms(program));
            instr("probe", program, SHOP + ".price", "--for", "10m").assertExitCode(0);
            assertFalse(retransforms.equals(retransforms(program)));
            assertTrue(json(program, SELL, "--depth", "3").get("decoded").asInt() > 0, "its class was retransformed");

            Finished small = instr("callees", program, SELL, "--class-kb", "1");
            assertTrue(small.stdout().contains("? callees unknown: skipped: the constants of its class take more than 1 KiB"), small.stdout());
            Finished wrong = instr("callees", program, SHOP + ".sel");
            assertEquals(1, wrong.exitCode());
            assertTrue(wrong.stderr().contains(SHOP + " has no method sel\n  help: did you mean `" + SHOP + ".sell`?"), wrong.stderr());
            Finished nobody = instr("callees", program, "targets.callees.Shup.sell");
            assertTrue(nobody.stderr().contains("did you mean `" + SHOP + "`?"), nobody.stderr());
            Finished types = instr("callees", program, SHOP + ".sell(long)");
            assertTrue(types.stderr().contains("sell has other parameters"), types.stderr());
            quit(program);
        }
    }

    /** What has data is seen by the number of calls; the name of what has none, such as a callee in a branch that is never taken, is in italics on a terminal. */
    @EachJdk(oldestAndNewest = true)
    void calleesWithoutDataAreInItalics(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, LIVE)) {
            for (String method : List.of("price", "recall")) {
                instr("probe", program, SHOP + "." + method, "--for", "10m").assertExitCode(0);
            }
            for (int i = 0; i < 7; i++) {
                program.ask("5");
            }
            JsonNode sell = Awaiting.await(() -> json(program, SELL), answer -> callee(answer, SHOP, "price").get("calls").asLong() >= 7);
            assertEquals(7, callee(sell, SHOP, "price").get("calls").asLong());
            JsonNode recall = callee(sell, SHOP, "recall");
            assertEquals(List.of("probed", "0"), List.of(recall.get("state").asText(), recall.get("calls").asText()), "in a branch that no call takes");
            assertTrue(callee(sell, SHOP, "discount").get("calls").isNull(), "it has no probe");

            String command = BuildResult.AGENT.path().resolveSibling("instr") + " callees " + program.pid() + " '" + SELL + "'";
            String shown = Tool.run("script", List.of("--quiet", "--return", "--command", command, "/dev/null")).assertExitCode(0).stdout();
            assertTrue(shown.contains("    0    1 static    \u001b[3m" + SHOP + ".recall(int) void\u001b[0m: probed at level time"), shown);
            assertTrue(shown.contains("    7    1 static    " + SHOP + ".price(int) long: probed at level time"), shown);
            assertTrue(shown.contains("         1 static    \u001b[3m" + SHOP + ".discount(int) long\u001b[0m: no probe"), shown);
            assertFalse(instr("callees", program, SELL).stdout().contains("\u001b"), "no terminal");
            quit(program);
        }
    }

    /** The contexts that are proposed for one callee, of one to four methods, under the same load: the longer, the fewer calls. */
    @EachJdk(oldestAndNewest = true)
    void theLongerTheContextTheFewerCallsAreRecorded(Jdk jdk) throws IOException {
        String first = "targets.callees.Paths.first";
        List<String> contexts = new ArrayList<>();
        Path directory = RunDirectories.create();
        try (Dialog program = Program.target(jdk, "targets.callees.Paths").talkWithAgent(AgentConfig.of(LIVE), directory)) {
            program.ask("1");
            for (int length = 1; length <= 4; length++) {
                String within = contextOfLast(json(program, first, "--depth", "4", "--within", String.valueOf(length)));
                assertEquals(length, within.split(" > ").length, within);
                contexts.add(within);
                instr("probe", program, "targets.callees.Paths.last", "--in", within, "--for", "10m").assertExitCode(0);
            }
            assertEquals(contexts.get(2), contextOfLast(json(program, first, "--depth", "4")), "three, unless another number is stated");
            assertEquals(2, instr("callees", program, first, "--json", "--within", "17").exitCode());
            program.ask("100");
            quit(program);
        }
        Map<String, Long> recorded = new TreeMap<>();
        Finished.in(directory).trace().calls().forEach(call -> recorded.merge(call.template(), 1L, Long::sum));
        List<Long> counts = contexts.stream().map(context -> recorded.get("timed inside " + context)).toList();
        assertEquals(List.of(400L, 300L, 200L, 100L), counts, recorded.toString());
    }

    private static String contextOfLast(JsonNode first) {
        JsonNode at = first;
        for (String method : List.of("second", "third", "fourth", "last")) {
            at = callee(at, "targets.callees.Paths", method);
        }
        return at.get("within").asText();
    }

    /** The JVM shows the size of a class's constants only with copies of them; that of the file is known, as the agent has seen it. */
    @EachJdk(oldestAndNewest = true)
    void aHugeClassIsSkippedAndTakesNoMemory(Jdk jdk) throws IOException {
        String generated = "targets.callees.Generated.call*";
        Program target = Program.target(jdk, "targets.callees.HugeClass").with("-Xms64m", "-Xmx64m", "-XX:+AlwaysPreTouch");
        try (Dialog program = target.talkWithAgent(AgentConfig.of(LIVE), RunDirectories.create())) {
            // What requests take anyway is there after this.
            for (int i = 0; i < WARM_UP; i++) {
                json(program, "targets.callees.HugeClass.main");
            }
            long before = resident(program, "VmRSS");
            resetPeak(program);
            for (int i = 0; i < 10; i++) {
                String skipped = instr("callees", program, generated).assertExitCode(0).stdout();
                assertEquals(5, skipped.split("skipped: its class file takes more than 1024 KiB", -1).length - 1, skipped);
            }
            long peak = resident(program, "VmHWM") - before;
            long after = resident(program, "VmRSS") - before;
            resetPeak(program);
            String read = instr("callees", program, generated, "--class-kb", "10000").assertExitCode(0).stdout();
            assertTrue(read.contains("java.lang.Thread.yield() void") && !read.contains("skipped"), read);
            long peakIfRead = resident(program, "VmHWM") - before;
            String figures = "resident KiB: at most " + peak + " more, " + after + " afterwards, at most " + peakIfRead + " if it is read";
            int copy = 80 * 65_000 / 1_024;
            assertTrue(peak < SLACK_KIB && after < SLACK_KIB, figures);
            assertTrue(peakIfRead > copy + SLACK_KIB, "the measurement sees what a class takes: " + figures);
            quit(program);
        }
    }

    private static void resetPeak(Dialog program) throws IOException {
        Files.writeString(Path.of("/proc", String.valueOf(program.pid()), "clear_refs"), "5");
    }

    /** In KiB. */
    private static long resident(Dialog program, String what) throws IOException {
        String status = Files.readString(Path.of("/proc", String.valueOf(program.pid()), "status"));
        return Long.parseLong(Pattern.compile(what + ":\\s+(\\d+) kB").matcher(status).results().findFirst().orElseThrow().group(1));
    }

    private Dialog start(Jdk jdk, String config) {
        Dialog program = Program.target(jdk, SHOP).talkWithAgent(AgentConfig.of(config), RunDirectories.create());
        // All classes are loaded and linked after this.
        program.ask("3");
        program.ask("4");
        program.ask("5");
        return program;
    }

    private static void quit(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }

    private static String retransforms(Dialog program) {
        String status = ControlSocket.status(program);
        MatchResult found = Pattern.compile("\"retransforms\":\\{\"batches\":\\d+,\"classes\":\\d+").matcher(status).results().findFirst().orElseThrow();
        return found.group();
    }

    private static JsonNode json(Dialog program, String method, String... further) throws IOException {
        List<String> arguments = new ArrayList<>(List.of(method, "--json"));
        arguments.addAll(List.of(further));
        Finished run = instr("callees", program, arguments.toArray(String[]::new)).assertExitCode(0);
        JsonNode answer = new ObjectMapper().readTree(run.stdout());
        assertEquals(method, answer.get("method").asText());
        return answer;
    }

    private static Finished instr(String verb, Dialog program, String... further) {
        List<String> line = new ArrayList<>(List.of(verb, String.valueOf(program.pid())));
        line.addAll(List.of(further));
        return Tool.instr(line);
    }

    private static Stream<JsonNode> all(JsonNode caller) {
        return StreamSupport.stream(caller.get("callees").spliterator(), false);
    }

    private static JsonNode callee(JsonNode caller, String type, String method) {
        return all(caller).filter(call -> call.get("class").asText().equals(type) && call.get("method").asText().equals(method))
                .findFirst()
                .orElseThrow(() -> new AssertionError("no " + type + "." + method + " in " + caller));
    }

    /** Which method may call which by which instruction, down the tree. */
    private static List<String> edges(JsonNode caller) {
        return all(caller).flatMap(call -> {
            String name = call.get("opcode").asText() + " " + call.get("class").asText() + "." + call.get("method").asText() + call.get("descriptor").asText();
            return Stream.concat(Stream.of(name), edges(call).stream().map(below -> name + " > " + below));
        }).sorted().toList();
    }

    /** Offset, instruction and method, as javap prints them. */
    private static Stream<String> places(JsonNode call) {
        String method = call.get("owner").asText() + "." + call.get("method").asText() + call.get("descriptor").asText();
        return StreamSupport.stream(call.get("offsets").spliterator(), false)
                .map(offset -> "%05d invoke%s %s".formatted(offset.asInt(), call.get("opcode").asText(), method));
    }

    private static List<String> ofJavap(Jdk jdk) {
        String code = Tool.run(jdk, "javap", List.of("-c", "-p", "-cp", BuildResult.TARGETS.path().toString(), SHOP)).stdout();
        String sell = code.substring(code.indexOf("long sell(int, java.lang.String);"));
        return Pattern.compile("(?m)^ +(\\d+): (invoke(?:virtual|special|static|interface)).*// (?:Interface)?Method (\\S+):(\\S+)$")
                .matcher(sell.substring(0, sell.indexOf("\n\n")))
                .results()
                .map(line -> "%05d %s %s%s".formatted(Integer.parseInt(line.group(1)), line.group(2),
                        line.group(3).contains(".") ? line.group(3).replace('/', '.') : SHOP + "." + line.group(3), line.group(4)))
                .sorted()
                .toList();
    }
}
