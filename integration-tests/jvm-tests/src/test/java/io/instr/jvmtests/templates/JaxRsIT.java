package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Requests to Jersey on a server without servlets, and in a servlet container: counted once, by their routes. */
class JaxRsIT {

    private static final Path SOURCES = Path.of("src/test/jax-rs").toAbsolutePath();
    private static final List<String> ANSWERED = List.of(
            "/shop/api/members /shop/api/members 200",
            "/shop/api/members/0 /shop/api/members/{id} 404",
            "/shop/api/members/13 /shop/api/members/{id} 500",
            "/shop/api/members/7 /shop/api/members/{id} 200",
            "/shop/api/members/7/loans/3 /shop/api/members/{id}/loans/{number} 200",
            "/shop/api/members/8 /shop/api/members/{id} 200",
            "/shop/api/nowhere/5  404");

    @EachJdk(from = 17, oldestAndNewest = true)
    void requestsToTheServerOfTheJdkAreRecordedByTheirRoutes(Jdk jdk) {
        assertEquals(ANSWERED, requests(jdk, "jdk"));
    }

    @EachJdk(from = 17, oldestAndNewest = true)
    void requestsThroughAServletHaveTheRoutesToo(Jdk jdk) {
        assertEquals(ANSWERED, requests(jdk, "tomcat"));
    }

    private static List<String> requests(Jdk jdk, String server) {
        String libraries = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                // The test targets have a servlet API of their own.
                .filter(jar -> jar.endsWith(".jar") && !jar.contains("test-targets"))
                .collect(Collectors.joining(File.pathSeparator));
        Path classes = RunDirectories.create();
        List<String> arguments = new ArrayList<>(List.of("--release", "17", "-d", classes.toString(), "-cp", libraries));
        arguments.addAll(Compilation.sourcesBelow(SOURCES));
        Compilation.javac(arguments);
        Program program = Program.of(jdk, List.of("-cp", classes + File.pathSeparator + libraries),
                List.of("shop.MemberService", server, RunDirectories.create().toString()));
        return program.compare(AgentConfig.of("[[rule]]\npreset = \"http-server\"\n")).trace().events("instr.HttpRequest").stream()
                .map(event -> event.getString("path") + " " + event.getString("route") + " " + event.getInt("status"))
                .sorted()
                .toList();
    }
}
