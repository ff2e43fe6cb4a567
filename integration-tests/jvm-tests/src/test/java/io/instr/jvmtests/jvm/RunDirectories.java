package io.instr.jvmtests.jvm;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Gives each run of a program a directory of its own. After a test that failed they stay, for looking into; after one
 * that passed they go. No process may outlive its test.
 */
public final class RunDirectories implements BeforeEachCallback, AfterEachCallback {

    private static final AtomicInteger NUMBER = new AtomicInteger();
    private static final List<Path> OF_THIS_TEST = new ArrayList<>();
    private static volatile String test = "outside-a-test";

    /** A new empty directory. */
    public static Path create() {
        Path directory = Path.of(System.getProperty("instr.work", "target/runs"), test + "-" + NUMBER.incrementAndGet());
        try {
            deleteTree(directory);
            Files.createDirectories(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        synchronized (OF_THIS_TEST) {
            OF_THIS_TEST.add(directory.toAbsolutePath());
        }
        return directory.toAbsolutePath();
    }

    @Override
    public void beforeEach(ExtensionContext context) {
        test = context.getRequiredTestClass().getSimpleName() + "." + context.getRequiredTestMethod().getName();
    }

    @Override
    public void afterEach(ExtensionContext context) throws IOException {
        int left = JvmProcess.killAll();
        boolean passed = context.getExecutionException().isEmpty();
        synchronized (OF_THIS_TEST) {
            for (Path directory : OF_THIS_TEST) {
                if (passed && left == 0) {
                    deleteTree(directory);
                }
            }
            OF_THIS_TEST.clear();
        }
        assertEquals(0, left, "processes left running by the test (killed now)");
    }

    private static void deleteTree(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
