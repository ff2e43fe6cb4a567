package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.BuildResult;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Tool;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarFile;
import java.util.stream.Stream;

/**
 * {@code instr pre} and the agent make the same bytes of a class, but for the numbers of the probes, which a process gives out, and for
 * the mark at the end of the constant pool, by which the agent finds the probes of a class instrumented ahead of time.
 */
class OfflineBytesIT {

    private static final String RULES = """
            [[rule]]
            class = "targets.features.**"
            level = "time"
            constructors = true
            """;

    /** Live probes, because there is a governor unless the configuration says otherwise; fixed ones; and live ones of all levels. */
    private static final List<String> WAYS = List.of("[governor]\ngc-percent = 40\n", "[governor]\nenabled = false\n", "[control]\nlive = true\n");

    private static final int CONSTANT_INTEGER = 3;

    @EachJdk
    void theAgentAndTheCommandLineWriteTheSameClasses(Jdk jdk) throws IOException {
        for (String way : WAYS) {
            assertSameClasses(jdk, way);
        }
    }

    private static void assertSameClasses(Jdk jdk, String way) throws IOException {
        Program program = Program.target(jdk, "targets.features.AllFeatures");
        Finished online = program.withAgent(AgentConfig.of("", "dump = \"dumped\"", way + RULES));
        online.assertExitCode(0);
        Path dumped = online.directory().resolve("dumped");
        Path jar = instrumentedOffline(jdk, online.directory().resolve("instr.toml"));

        int compared = 0;
        try (JarFile offline = new JarFile(jar.toFile()); Stream<Path> files = Files.walk(dumped)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                String name = dumped.relativize(file).toString();
                if (offline.getEntry(name) == null) {
                    continue; // made while the program ran: no jar has it
                }
                byte[] theirs = withoutMark(offline.getInputStream(offline.getEntry(name)).readAllBytes());
                assertSameButForProbeNumbers(name, Files.readAllBytes(file), theirs);
                compared++;
            }
        }
        assertTrue(compared >= 10, "only " + compared + " classes were compared");
    }

    /** Where the bytes differ there must be a CONSTANT_Integer; all else is equal. */
    private static void assertSameButForProbeNumbers(String name, byte[] online, byte[] offline) {
        assertEquals(online.length, offline.length, name);
        List<Integer> numbers = integerConstants(online);
        for (int position : numbers) {
            ByteBuffer.wrap(online).putInt(position, 0);
            ByteBuffer.wrap(offline).putInt(position, 0);
        }
        assertArrayEquals(online, offline, name);
        assertFalse(numbers.isEmpty(), name + " has no probe");
    }

    /** The class without the one entry of its constant pool that begins as marks do. */
    private static byte[] withoutMark(byte[] file) {
        byte[] begin = "instr pre 1 ".getBytes(StandardCharsets.US_ASCII);
        int mark = entryPositions(file, 1).stream()
                .filter(at -> Arrays.equals(file, at + 2, at + 2 + begin.length, begin, 0, begin.length))
                .findFirst().orElseThrow(() -> new AssertionError("no mark"));
        int end = mark + 2 + Short.toUnsignedInt(ByteBuffer.wrap(file).getShort(mark));
        ByteBuffer without = ByteBuffer.allocate(file.length - (end - mark + 1));
        without.put(file, 0, mark - 1).put(file, end, file.length - end);
        return without.putShort(8, (short) (without.getShort(8) - 1)).array();
    }

    /** Positions of the values of all integer constants (JVMS 4.4). */
    private static List<Integer> integerConstants(byte[] file) {
        return entryPositions(file, CONSTANT_INTEGER);
    }

    /** Positions after the tag of all constants of a kind. */
    private static List<Integer> entryPositions(byte[] file, int kind) {
        ByteBuffer bytes = ByteBuffer.wrap(file).position(8);
        List<Integer> positions = new ArrayList<>();
        int count = Short.toUnsignedInt(bytes.getShort());
        for (int index = 1; index < count; index++) {
            int tag = bytes.get();
            if (tag == kind) {
                positions.add(bytes.position());
            }
            if (tag == 5 || tag == 6) {
                index++;
            }
            int length = switch (tag) {
                case 1 -> Short.toUnsignedInt(bytes.getShort());
                case 7, 8, 16, 19, 20 -> 2;
                case 15 -> 3;
                case 5, 6 -> 8;
                default -> 4;
            };
            bytes.position(bytes.position() + length);
        }
        return positions;
    }

    private static Path instrumentedOffline(Jdk jdk, Path config) {
        Path directory = RunDirectories.create();
        Path jar = BuildResult.TARGETS_JAR.path();
        Tool.instr(List.of("pre", "--config", config.toString(), "--output", directory.toString(),
                "--java-home", jdk.home().toString(), jar.toString())).assertExitCode(0);
        return directory.resolve(jar.getFileName());
    }
}
