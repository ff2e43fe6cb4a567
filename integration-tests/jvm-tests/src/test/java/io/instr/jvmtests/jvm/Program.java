package io.instr.jvmtests.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A program and the JVM to run it on, with or without the agent. Immutable. */
public final class Program {

    private static final Map<List<String>, Finished> PLAIN_RUNS = new ConcurrentHashMap<>();

    private final Jdk jdk;
    private final List<String> launcher;
    private final List<String> jvmOptions;
    private final List<String> mainAndArguments;

    private Program(Jdk jdk, List<String> launcher, List<String> jvmOptions, List<String> mainAndArguments) {
        this.jdk = jdk;
        this.launcher = launcher;
        this.jvmOptions = jvmOptions;
        this.mainAndArguments = mainAndArguments;
    }

    /** A main class of the module test-targets. */
    public static Program target(Jdk jdk, String mainClass, String... arguments) {
        return of(jdk, List.of("-cp", BuildResult.TARGETS.path().toString()), concat(List.of(mainClass), List.of(arguments)));
    }

    /** Any command line of {@code java}. */
    public static Program of(Jdk jdk, List<String> jvmOptions, List<String> mainAndArguments) {
        return new Program(jdk, List.of(), concat(List.of("-Xmx256m"), jvmOptions), mainAndArguments);
    }

    /** The same with more JVM options. */
    public Program with(String... options) {
        return new Program(jdk, launcher, concat(jvmOptions, List.of(options)), mainAndArguments);
    }

    /**
     * The same with its own methods and the agent's runtime compiled before their first call. The JDK's methods are interpreted: to
     * compile them takes seconds.
     */
    public Program compiledAtOnce() {
        return with("-Xcomp", "-XX:CompileCommand=quiet")
                .with("-XX:CompileCommand=compileonly,targets.*::*", "-XX:CompileCommand=compileonly,java.instr.*::*");
    }

    /** The same, started by another command that gets the command line of java as its last arguments. */
    public Program startedBy(List<String> command) {
        return new Program(jdk, command, jvmOptions, mainAndArguments);
    }

    /** One run without the agent serves for all comparisons. */
    public Finished withoutAgent() {
        return PLAIN_RUNS.computeIfAbsent(commandLine(List.of()), line -> start(List.of(), RunDirectories.create()).finish());
    }

    /** A run under the agent that ends by itself. */
    public Finished withAgent(AgentConfig config) {
        return startWithAgent(config).finish();
    }

    /** Runs the program both ways and requires that nobody can tell the difference. */
    public Finished compare(AgentConfig config) {
        Finished plain = withoutAgent();
        return withAgent(config).assertBehavesLike(plain);
    }

    public JvmProcess startWithAgent(AgentConfig config) {
        Path directory = RunDirectories.create();
        return start(List.of(agentOption(config.writeTo(directory).getFileName().toString())), directory);
    }

    /** Starts it in a directory with options that the caller has prepared. */
    public JvmProcess start(List<String> agentOptions, Path directory) {
        return JvmProcess.start(commandLine(agentOptions), directory, false);
    }

    /** Starts it to talk with over standard input and output. */
    public Dialog talk(List<String> agentOptions, Path directory) {
        return new Dialog(JvmProcess.start(commandLine(agentOptions), directory, true));
    }

    /** Starts it under the agent, to talk with, and waits until it is ready. */
    public Dialog talkWithAgent(AgentConfig config, Path directory) {
        Dialog program = talk(List.of(agentOption(config.writeTo(directory).getFileName().toString())), directory);
        assertEquals("ready", program.next());
        return program;
    }

    public static String agentOption(String configFile) {
        return "-agentpath:" + BuildResult.AGENT.path() + "=" + configFile;
    }

    private List<String> commandLine(List<String> agentOptions) {
        List<String> line = new ArrayList<>(launcher);
        line.add(jdk.java().toString());
        line.addAll(agentOptions);
        line.addAll(jvmOptions);
        line.addAll(mainAndArguments);
        return line;
    }

    private static List<String> concat(List<String> first, List<String> second) {
        List<String> all = new ArrayList<>(first);
        all.addAll(second);
        return List.copyOf(all);
    }
}
