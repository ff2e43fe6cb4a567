package io.instr.jvmtests.templates;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.io.File;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;

/** Tomcat with a page that it compiles while it runs, and a servlet: the presets find both. */
class WebApplicationIT {

    private static final Path FOLDER = Path.of("src/test/web-application").toAbsolutePath();

    @EachJdk
    void pagesAndServletsAreTimedByTheirPresets(Jdk jdk) {
        Program program = server(jdk);
        // Without the breaker: on a busy machine collections stop a server that is starting for long.
        Finished run = program.compare(AgentConfig.of("""
                [governor]
                gc-percent = 0

                [[rule]]
                preset = "http-server"

                [[rule]]
                preset = "jsp"

                [[rule]]
                preset = "servlet"
                """));
        Trace trace = run.trace();
        assertEquals(3, trace.count("org.apache.jsp.total_jsp._jspService"), () -> trace.counts() + "");
        assertEquals(1, trace.count("shop.WebServer$Greeting.doGet"), () -> trace.counts() + "");
        List<String> requests = trace.events("instr.HttpRequest").stream()
                .map(event -> event.getString("path") + " " + event.getInt("status"))
                .distinct()
                .sorted()
                .toList();
        assertEquals(List.of("/greeting 200", "/nowhere 404", "/total.jsp 200", "/total.jsp 500"), requests);
    }

    private static Program server(Jdk jdk) {
        String tomcat = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(jar -> jar.matches(".*[/\\\\](tomcat|ecj)-[^/\\\\]*\\.jar"))
                .collect(Collectors.joining(File.pathSeparator));
        Path classes = RunDirectories.create();
        List<String> arguments = new ArrayList<>(List.of("--release", "11", "-Xlint:-options", "-d", classes.toString(), "-cp", tomcat));
        arguments.addAll(Compilation.sourcesBelow(FOLDER.resolve("src")));
        Compilation.javac(arguments);
        Path work = RunDirectories.create();
        return Program.of(jdk, List.of("-cp", classes + File.pathSeparator + tomcat),
                List.of("shop.WebServer", FOLDER.resolve("pages").toString(), work.toString()));
    }
}
