package io.instr.jvmtests.claims;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Any history of probes by request, ends of these, levels by request and reloads, while classes are loaded: what is in force is what a model
 * says, and after the last of them the JVM has the classes as they were.
 */
class ClaimHistoriesIT {

    /** With {@code -Dinstr.steps} and {@code -Dinstr.seed} a history can be longer, or be repeated. */
    private static final int STEPS = Integer.getInteger("instr.steps", 40);
    /** What probes of one class need, and HotSpot keeps: each entry once, however often it is changed. */
    private static final int MOST_CONSTANTS = 100;
    private static final List<String> LEVELS = List.of("off", "watch", "time", "full");
    private static final String STEP = "targets.Conversation.step";
    private static final String MEASURE = "targets.Durations.measure";
    private static final Pattern CLAIM = Pattern.compile("\"claim\":(\\d+)");
    private static final Pattern LIVE = Pattern.compile("\"live\":\\[\\{\"category\":\"catch-all\",\"levels\":\\{([^}]*)}");

    private final Path directory = RunDirectories.create();

    @EachJdk(having = "jdb", oldestAndNewest = true)
    void everyHistoryLeadsToWhatAModelSays(Jdk jdk) throws Exception {
        long seed = Long.getLong("instr.seed", System.nanoTime());
        Original original = original(jdk);
        String file = writeRules(Map.of());
        LoadedBytes loaded = LoadedBytes.atFreePort();
        Program target = Program.target(jdk, "targets.Conversation").with("-Xverify:all", loaded.option());
        try (Dialog program = target.talk(List.of(Program.agentOption(file)), directory)) {
            assertEquals("ready", program.next());
            History history = new History(program, new Random(seed));
            for (int step = 0; step < STEPS; step++) {
                String change = history.change();
                assertEquals(history.model.levels(), inForce(program), "seed " + seed + ", step " + step + ": " + change + "\n" + history.model);
            }
            history.endAll();
            assertEquals(Map.of(), inForce(program), "seed " + seed);
            assertEquals(original.methods, loaded.methods(), "seed " + seed);
            loaded.constants().forEach((type, constants) -> {
                int grown = constants - original.constants.get(type);
                assertTrue(grown < MOST_CONSTANTS, type + " has " + grown + " constants more after " + STEPS + " changes, seed " + seed);
            });
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    /** The bytecode in a JVM without the agent. */
    private static Original original(Jdk jdk) throws Exception {
        LoadedBytes loaded = LoadedBytes.atFreePort();
        Program plain = Program.target(jdk, "targets.Conversation").with(loaded.option());
        try (Dialog program = plain.talk(List.of(), RunDirectories.create())) {
            program.next();
            loadAll(program);
            return new Original(loaded.methods(), loaded.constants());
        }
    }

    private record Original(Map<String, String> methods, Map<String, Integer> constants) {}

    private static void loadAll(Dialog program) {
        program.ask("busy 1");
        program.ask("twin load");
        program.ask("twin link");
    }

    /** How many probes have which level. */
    private static Map<String, Integer> inForce(Dialog program) {
        Matcher live = LIVE.matcher(ControlSocket.status(program));
        Map<String, Integer> levels = new TreeMap<>();
        if (live.find()) {
            for (String level : live.group(1).split(",")) {
                String[] parts = level.replace("\"", "").split(":");
                levels.put(parts[0], Integer.parseInt(parts[1]));
            }
        }
        return levels;
    }

    private String writeRules(Map<String, String> rules) {
        StringBuilder text = new StringBuilder("[control]\nlive = true\n[governor]\nenabled = false\n[[rule]]\nclass = \"other.**\"\n");
        rules.forEach((method, level) -> text.append("[[rule]]\nclass = \"")
                .append(method, 0, method.lastIndexOf('.'))
                .append("\"\nmethod = \"")
                .append(method.substring(method.lastIndexOf('.') + 1))
                .append("\"\nlevel = \"")
                .append(level)
                .append("\"\n"));
        return AgentConfig.of(text.toString()).writeTo(directory).getFileName().toString();
    }

    private static boolean takes(String pattern, String method) {
        return method.matches(pattern.replace(".", "\\.").replace("*", "[^.]*"));
    }

    /** Random changes, made in the program and in the model. */
    private final class History {
        private static final List<String> PATTERNS = List.of(STEP, "targets.Conversation.query", "targets.Conversation.f*", "targets.Conversation.s*", "targets.*.measure");

        private final Dialog program;
        private final Random random;
        private final Model model = new Model();

        History(Dialog program, Random random) {
            this.program = program;
            this.random = random;
        }

        /** Makes a change, and says what. */
        String change() {
            int kind = random.nextInt(8);
            return kind < 3 ? probe() : kind < 5 ? end() : kind == 5 ? level() : kind == 6 ? reload() : load();
        }

        private String probe() {
            String pattern = one(PATTERNS);
            String level = one(LEVELS);
            // A call that is not recorded at the level in force would end it at some later time.
            boolean endsByCalls = takes(pattern, STEP) && random.nextBoolean() && List.of("time", "full").contains(model.with(pattern, level));
            String limit = endsByCalls ? "\"calls\":1}" : "\"seconds\":600}";
            String answer = ask("{\"ask\":\"probe\",\"methods\":\"" + pattern + "\",\"level\":\"" + level + "\"," + limit);
            Matcher number = CLAIM.matcher(answer);
            assertTrue(number.find(), answer);
            int claim = Integer.parseInt(number.group(1));
            model.claims.put(claim, new String[] {pattern, level});
            if (endsByCalls) {
                program.ask("work 1");
Pattern ended = Pattern.compile("claim " + claim + ": [^\"]* removed: ");
                ControlSocket.await(program, status -> ended.matcher(status).find());
                model.claims.remove(claim);
            }
            return limit + pattern + " at " + level + ": " + answer;
        }

        private String end() {
            return model.claims.isEmpty() ? "nothing to end" : end(one(List.copyOf(model.claims.keySet())));
        }

        private String end(int claim) {
            model.claims.remove(claim);
            return ask("{\"ask\":\"remove\",\"claim\":" + claim + "}");
        }

        private String level() {
            String pattern = one(PATTERNS);
            String level = random.nextInt(3) == 0 ? "auto" : one(LEVELS);
            String answer = ControlSocket.level(program, pattern, level);
            model.set(pattern, level);
            return pattern + " is set to " + level + ": " + answer;
        }

        private String reload() {
            Map<String, String> rules = new TreeMap<>();
            for (String method : List.of(STEP, "targets.Conversation.query", MEASURE)) {
                if (random.nextBoolean()) {
                    rules.put(method, one(LEVELS));
                }
            }
            return reload(rules);
        }

        private String reload(Map<String, String> rules) {
            writeRules(rules);
            String answer = ask("{\"ask\":\"reload\"}");
            assertTrue(answer.contains("\"generation\""), answer);
            model.rules = rules;
            return rules + ": " + answer;
        }

        private String load() {
            loadAll(program);
            model.loaded.add(MEASURE);
            return "all classes are loaded";
        }

        void endAll() {
            List.copyOf(model.claims.keySet()).forEach(this::end);
            reload(Map.of());
            load();
        }

        private String ask(String request) {
            return ControlSocket.ask(program, request);
        }

        private <T> T one(List<T> list) {
            return list.get(random.nextInt(list.size()));
        }
    }

    /** What is wanted of each method: of several claims the highest level, any claim before the rules, and what a person has set before all. */
    private static final class Model {
        private final List<String> loaded = new ArrayList<>(List.of(STEP, "targets.Conversation.query", "targets.Conversation.fail", "targets.Conversation.fill"));
        private final Map<Integer, String[]> claims = new TreeMap<>();
        private final Map<String, String> set = new TreeMap<>();
        private Map<String, String> rules = Map.of();

        /** The level of a method's probe, or nothing. */
        String level(String method) {
            Stream<String> wanted = claims.values().stream().filter(claim -> takes(claim[0], method)).map(claim -> claim[1]);
            String level = wanted.max(Comparator.comparingInt(LEVELS::indexOf)).orElse(rules.get(method));
            return level == null ? null : set.getOrDefault(method, level);
        }

        /** The level of the step's probe if this claim is made. */
        String with(String pattern, String level) {
            claims.put(Integer.MAX_VALUE, new String[] {pattern, level});
            String then = level(STEP);
            claims.remove(Integer.MAX_VALUE);
            return then;
        }

        void set(String pattern, String level) {
            for (String method : loaded) {
                if (takes(pattern, method) && level(method) != null) {
                    set.put(method, level);
                }
            }
            set.values().removeIf("auto"::equals);
        }

        /** How many probes have which level. */
        Map<String, Integer> levels() {
            // What was set is forgotten with the probe.
            set.keySet().removeIf(method -> level(method) == null);
            Map<String, Integer> levels = new TreeMap<>();
            loaded.stream().distinct().map(this::level).filter(Objects::nonNull).forEach(level -> levels.merge(level, 1, Integer::sum));
            return levels;
        }

        @Override
        public String toString() {
            return "rules " + rules + ", set " + set + ", claims " + claims.entrySet().stream().map(claim -> claim.getKey() + "=" + List.of(claim.getValue())).toList();
        }
    }
}
