package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A user writes a template, compiles it against java-runtime, names its jar in the configuration. */
class UserTemplatesIT {

    private static final Path SOURCES = Path.of("src/test/user-templates").toAbsolutePath();
    private static final String VALUED = "targets.Valued";

    @EachJdk
    void argumentsResultsAndExceptionsReachTheTemplate(Jdk jdk) {
        Finished run = run(jdk, VALUED, """
                [[rule]]
                class = "targets.Valued"
                method = ["mixed", "wide", "describe", "fails", "nothing"]
                template = "values"
                level = "time"
                """);
        assertTemplateLines(run, List.of(
                "# targets.Valued.mixed(IDLjava/lang/String;)J arg1=2.5 of 3 result=111 thrown=null",
                "# targets.Valued.wide(JCJ)D arg1=c of 3 result=5.49755813987E11 thrown=null",
                "# targets.Valued.describe(Ljava/lang/String;Ljava/lang/String;)Ljava/lang/String;"
                        + " arg1=second of 2 result=me:first:secondnull thrown=null",
                "# targets.Valued.fails(ILjava/lang/String;)I"
                        + " arg1=why of 2 result=null thrown=java.lang.IllegalStateException: why",
                "# targets.Valued.nothing(ZB)V arg1=3 of 2 result=null thrown=null"));
    }

    @EachJdk
    void theReceiverReachesTheTemplate(Jdk jdk) {
        Finished run = run(jdk, VALUED, """
                [[rule]]
                class = "targets.Valued"
                method = ["describe", "wide"]
                template = "receiver"
                level = "time"
                """);
        assertTemplateLines(run, List.of("# receiver none same=true", "# receiver targets.Valued same=true"));
    }

    @EachJdk
    void stackedTemplatesNestInTheOrderOfTheRule(Jdk jdk) {
        Finished run = run(jdk, VALUED, """
                [[rule]]
                class = "targets.Valued"
                method = ["fails", "nothing"]
                template = ["outer", "timed", "inner"]
                level = "time"
                """);
        List<String> once = List.of("# outer in", "# inner in", "# inner out", "# outer out");
        List<String> twice = new ArrayList<>(once);
        twice.addAll(once);
        assertTemplateLines(run, twice);
        assertEquals(1, run.trace().count("targets.Valued.fails"), "the built-in template is between them");
        assertEquals(1, run.trace().count("targets.Valued.nothing"));
    }

    @EachJdk
    void aTemplateMayHaveLoopsSwitchesAndHandlers(Jdk jdk) {
        Finished run = run(jdk, VALUED, """
                [[rule]]
                class = "targets.Valued"
                method = ["fails", "mixed"]
                template = "busy"
                level = "time"
                """);
        assertTemplateLines(run, List.of("# busy positive 452", "# busy positive 452"));
    }

    @EachJdk
    void whatCannotBeMergedIsRefusedWithFileAndLine(Jdk jdk) {
        Map<String, String> places = new LinkedHashMap<>();
        places.put("NoSentinel", "NoSentinel.java:9:");
        places.put("TwoSentinels", "TwoSentinels.java:11:");
        places.put("OwnMethod", "OwnMethod.java:10:");
        places.put("OwnField", "OwnField.java:12:");
        places.put("WithLambda", "WithLambda.java:10:");
        places.put("Swallowing", "Swallowing.java:");
        places.put("Foreign", "Foreign.java:12:");
        Program program = Program.target(jdk, "targets.Hello");
        Path jar = templatesFrom("refused");

        Finished run = program.withAgent(config(jar, "[[rule]]\nclass = \"targets.Hello\"\n"));

        run.assertExitCode(0);
        assertEquals(program.withoutAgent().stdout(), run.stdout(), "the application runs un-instrumented");
        places.forEach((template, place) ->
                assertTrue(run.stderr().contains(place), () -> template + ": no `" + place + "` in\n" + run.stderr()));
    }

    /** The list names the templates of each jar, with the jar and the method that each was made from. */
    @EachJdk(from = 25)
    void templatesOfSeveralJarsAreListedWithTheirSource(Jdk jdk) throws IOException {
        List<Path> jars = List.of(templatesFrom("good"), templatesFrom("timers"), templatesFrom("styles"));
        JsonNode templates = listed(jars);
        for (Path jar : jars) {
            List<JsonNode> ofJar = templates.findParents("origin").stream()
                    .filter(template -> template.get("origin").asText().contains(jar.getFileName().toString()))
                    .toList();
            assertTrue(ofJar.size() > 0, () -> "nothing of " + jar + " in " + templates);
            assertTrue(ofJar.stream().allMatch(template -> template.get("source").asText().startsWith("acme.")), ofJar::toString);
        }
    }

    /** The number of categories is open, and what has no template of its own gets the catch-all. */
    @EachJdk(from = 25)
    void hundredsOfCategoriesLoadAndTheCatchAllServesTheRest(Jdk jdk) throws IOException {
        Path jar = generatedCategories(300);
        Set<String> categories = listed(List.of(jar)).findValues("category").stream().map(JsonNode::asText).collect(Collectors.toSet());
        assertTrue(categories.containsAll(IntStream.range(0, 300).mapToObj(number -> "category-" + number).toList()), categories::toString);
        Finished run = Program.target(jdk, VALUED).withAgent(config(jar, """
                [[rule]]
                class = "targets.Valued"
                method = "wide"
                template = "template-299"
                level = "time"

                [[rule]]
                class = "targets.Valued"
                level = "time"
                """)).assertExitCode(0);
        assertEquals(0, run.trace().count("targets.Valued.wide"), "its template records nothing");
        assertTrue(run.trace().callsOf("targets.Valued.nothing").stream().allMatch(call -> call.template().equals("timed")));
        assertEquals(1, run.trace().count("targets.Valued.nothing"));
    }

    private static Path generatedCategories(int count) throws IOException {
        StringBuilder source = new StringBuilder("""
                package acme.many;
                import java.instr.Target;
                import java.instr.Template;
                final class Many {
                """);
        for (int number = 0; number < count; number++) {
            source.append("""
                    @Template(name = "template-%1$d", category = "category-%1$d")
                    static void template%1$d() throws Throwable { Target.proceed(); }
                    """.formatted(number));
        }
        Path folder = RunDirectories.create();
        Files.writeString(folder.resolve("Many.java"), source.append("}\n"));
        return jarOf(folder, "many");
    }

    /** What {@code instr templates} lists for a configuration with these jars. */
    private static JsonNode listed(List<Path> jars) throws IOException {
        String list = jars.stream().map(jar -> "\"" + jar + "\"").collect(Collectors.joining(", "));
        AgentConfig config = AgentConfig.of("", "templates = [" + list + "]", "[[rule]]\nclass = \"targets.Valued\"\n");
        String file = config.writeTo(RunDirectories.create()).toString();
        return new ObjectMapper().readTree(Tool.instr(List.of("templates", "--json", "--config", file)).assertExitCode(0).stdout());
    }

    /** Runs with the templates of {@code good}; without the templates' own lines the output must be the program's. */
    private static Finished run(Jdk jdk, String mainClass, String rules) {
        Program program = Program.target(jdk, mainClass).with("-Xverify:all");
        Finished run = program.withAgent(config(templatesFrom("good"), rules));
        String own = run.stdout().lines().filter(line -> !line.startsWith("# ")).map(line -> line + "\n").reduce("", String::concat);
        new Finished(run.exitCode(), own, run.stderr(), run.directory(), run.command()).assertBehavesLike(program.withoutAgent());
        return run;
    }

    private static void assertTemplateLines(Finished run, List<String> expected) {
        assertEquals(expected, run.stdout().lines().filter(line -> line.startsWith("# ")).toList());
    }

    private static AgentConfig config(Path jar, String rules) {
        return AgentConfig.of("", "templates = [\"" + jar + "\"]", rules);
    }

    /** A jar with the templates of a folder of user-templates. */
    static Path templatesFrom(String folder) {
        return jarOf(SOURCES.resolve(folder), folder);
    }

    private static Path jarOf(Path sources, String name) {
        return jarOf(sources, RunDirectories.create().resolve(name + ".jar"));
    }

    /** Makes this jar, in place of one that is there. */
    static Path jarOf(Path sources, Path jar) {
        Path classes = RunDirectories.create();
        List<String> arguments = new ArrayList<>(List.of("--release", "8", "-Xlint:-options", "-d", classes.toString(),
                "-cp", BuildResult.JAVA_RUNTIME.path().toString()));
        arguments.addAll(Compilation.sourcesBelow(sources));
        Compilation.javac(arguments);
        return Compilation.jar(classes, jar);
    }
}
