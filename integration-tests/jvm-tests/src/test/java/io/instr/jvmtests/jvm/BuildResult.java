package io.instr.jvmtests.jvm;

import java.nio.file.Files;
import java.nio.file.Path;

/** What the builds of Cargo and Maven left for the tests. */
public enum BuildResult {
    AGENT("instr.agent", "cargo build --release --package agent"),
    CHECKOUT("instr.checkout", "git clone"),
    API("instr.api", "mvn -pl instr-api package"),
    JAVA_RUNTIME("instr.java-runtime", "mvn -pl java-runtime package"),
    SAMPLE_WEBAPP("instr.sample-webapp", "mvn -pl integration-tests/sample-webapp package"),
    TARGETS("instr.targets", "mvn -pl integration-tests/test-targets package"),
    TARGETS_JAR("instr.targets-jar", "mvn -pl integration-tests/test-targets package"),
    TARGET_SOURCES("instr.target-sources", "git checkout integration-tests/test-targets");

    private final String property;
    private final String command;

    BuildResult(String property, String command) {
        this.property = property;
        this.command = command;
    }

    /** Its absolute path; fails with the command that makes it if it is missing. */
    public Path path() {
        String value = System.getProperty(property);
        Path path = value == null ? null : Path.of(value).toAbsolutePath().normalize();
        if (path == null || !Files.exists(path)) {
            throw new IllegalStateException(property + " = " + path + " does not exist: run `" + command + "`");
        }
        return path;
    }
}
