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
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;

/** Rules are replaced by others and back again, over and over: neither the JVM nor the agent needs more memory for it, and methods keep their numbers. */
class ManyReloadsIT {

    /** After so many reloads tables have grown to what they need, and code is compiled. */
    private static final int WARM = 10;
    private static final List<String> METHODS = List.of("step", "query", "fill", "fail");
    private static final Pattern PROBE = Pattern.compile("\"probe\":(\\d+),\"method\":\"targets\\.Conversation\\.(\\w+)\"");
    private static final Pattern METASPACE = Pattern.compile("sun\\.gc\\.metaspace\\.used=(\\d+)");
    private static final Pattern RESIDENT = Pattern.compile("VmRSS:\\s+(\\d+) kB");

    private final Path directory = RunDirectories.create();

    @EachJdk(oldestAndNewest = true, having = "jcmd")
    void reloadsBackAndForthLeaveNothing(Jdk jdk) throws IOException {
        reload(jdk, 2 * WARM);
    }

    /** Metaspace before JEP 387 (JDK 16) reuses only part of what it frees: on JDK 11 it grows by 19 KB with each reload. */
    @EachJdk(from = 17, having = "jcmd")
    @Tag("soak")
    void threeHundredReloadsBackAndForthLeaveNothing(Jdk jdk) throws IOException {
        reload(jdk, 300);
    }

    private void reload(Jdk jdk, int reloads) throws IOException {
        write(rules("time", METHODS));
        Program target = Program.target(jdk, "targets.Conversation").with("-Xms32m", "-Xmx32m", "-XX:+AlwaysPreTouch", "-XX:+UseSerialGC");
        try (Dialog program = target.talk(List.of(Program.agentOption("instr.toml")), directory)) {
            assertEquals("ready", program.next());
            Used first = use(jdk, program);
            Used warm = first;
            for (int reload = 1; reload <= reloads; reload++) {
                boolean isBack = reload % 2 == 0;
                write(isBack ? rules("time", METHODS) : rules("full", METHODS.subList(0, 2)));
                String answer = ControlSocket.ask(program, "{\"ask\":\"reload\"}");
                assertTrue(answer.contains("\"classes_changed\":1,"), answer);
                if (reload == WARM) {
                    warm = use(jdk, program);
                }
            }
            Used last = use(jdk, program);
            System.out.println(reloads + " reloads, " + jdk + ": first " + first + ", after " + WARM + " " + warm + ", last " + last);
            assertEquals(first.probes, last.probes, "a method has the number that it had before");
            assertTrue(last.metaspace < warm.metaspace + 128, "metaspace in KB: " + warm + ", " + last);
            assertTrue(last.resident < warm.resident + 16 * 1024, "memory of the process in KB: " + warm + ", " + last);
            program.send("quit");
            assertEquals("", program.finish().assertExitCode(0).stderr());
        }
    }

    /** What the process uses, in KB, and the numbers of the probes by method. */
    private record Used(long metaspace, long resident, Map<String, Integer> probes) {}

    /** After the program has called each method once, and after a collection: HotSpot frees versions of methods that are not used any more. */
    private Used use(Jdk jdk, Dialog program) throws IOException {
        long before = ControlSocket.calls(ControlSocket.status(program));
        assertEquals(List.of("sum 5", "length 3", "size 1", "failed 1"),
                List.of(program.ask("work 3"), program.ask("query abc"), program.ask("map 1"), program.ask("fail 1")));
        ControlSocket.awaitCalls(program, before + 7);
        Map<String, Integer> probes = new TreeMap<>();
        PROBE.matcher(ControlSocket.status(program)).results().forEach(probe -> probes.put(probe.group(2), Integer.parseInt(probe.group(1))));
        assertEquals(METHODS.size(), probes.size(), probes::toString);
        jcmd(jdk, program, "GC.run");
        long metaspace = number(METASPACE, jcmd(jdk, program, "PerfCounter.print")) / 1024;
        return new Used(metaspace, number(RESIDENT, Files.readString(Path.of("/proc", program.pid() + "", "status"))), probes);
    }

    private static String jcmd(Jdk jdk, Dialog program, String command) {
        return Tool.run(jdk, "jcmd", List.of(program.pid() + "", command)).assertExitCode(0).stdout();
    }

    private static long number(Pattern pattern, String text) {
        Matcher number = pattern.matcher(text);
        assertTrue(number.find(), text);
        return Long.parseLong(number.group(1));
    }

    private static String rules(String level, List<String> methods) {
        return "[[rule]]\nclass = \"targets.Conversation\"\nmethod = [\"" + String.join("\", \"", methods) + "\"]\nlevel = \"" + level + "\"\n";
    }

    private void write(String rules) throws IOException {
        Path whole = Files.writeString(directory.resolve("next.toml"), AgentConfig.of(rules).ungoverned().text());
        Files.move(whole, directory.resolve("instr.toml"), StandardCopyOption.ATOMIC_MOVE);
    }
}
