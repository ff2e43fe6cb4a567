package io.instr.jvmtests.rewriting;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import io.instr.jvmtests.jvm.Trace;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** A statement through a pool's wrapper, a proxy and the driver, and a request that is forwarded: each is counted once. */
class NestedCallsIT {

    private static AgentConfig config(String outermost) {
        return AgentConfig.of("", "on_error = \"abort\"", """
                [governor]
                enabled = false
                [control]
                live = true
                [[rule]]
                class = "targets.NestedCalls$*"
                method = "execute"
                template = "jdbc"
                level = "time"
                %1$s
                [[rule]]
                class = "targets.NestedCalls$*"
                method = "run()"
                template = "jdbc-prepared"
                level = "time"
                %1$s
                [[rule]]
                class = "targets.NestedCalls$Connection"
                method = "prepare(*)"
                template = "jdbc-prepare"
                level = "time"
                [[rule]]
                preset = "http-server"
                level = "time"
                %1$s
                """.formatted(outermost));
    }

    private static Dialog start(Jdk jdk, AgentConfig config) throws IOException {
        Path directory = RunDirectories.create();
        return Program.target(jdk, "targets.NestedCalls").with("-Xverify:all").talkWithAgent(config, directory);
    }

    private static Trace end(Dialog program) {
        program.send("quit");
        return program.finish().assertExitCode(0).trace();
    }

    private static List<String> statements(Trace trace) {
        return trace.events("instr.Statement").stream().map(event -> event.getString("statement")).toList();
    }

    private static List<String> paths(Trace trace) {
        return trace.events("instr.HttpRequest").stream().map(event -> event.getString("path")).toList();
    }

    @EachJdk
    void theOutermostCallIsCountedAndTheInnerOnesAreCallsInTheTree(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("outermost = true"))) {
            for (String text : List.of("one", "fails", "two", "overflows", "three")) {
                program.ask("execute " + text);
            }
            program.ask("unknown-text prepared");
            program.ask("forward /front");
            program.ask("forward /again");
            Trace trace = end(program);
            assertEquals(List.of("one", "fails", "two", "overflows", "three", "prepared"), statements(trace));
            assertEquals(List.of("/front", "/again"), paths(trace));
            assertEquals(5, trace.count("targets.NestedCalls$Proxy.execute"), () -> "the inner calls are calls: " + trace.counts());
            assertEquals(4, trace.count("javax.servlet.http.HttpServlet.service"));
        }
    }

    /** The handler to which Spring forwards leaves its pattern in the attributes that both requests share. */
    @EachJdk(from = 17, oldestAndNewest = true)
    void aForwardedRequestKeepsItsOwnRoute(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("outermost = true"))) {
            program.ask("forward /members/7 /members/{id} /print/{what}");
            program.ask("forward /members/8 /members/{id}");
            program.ask("forward /members/9 unknown /print/{what}");
            Trace trace = end(program);
            List<String> routes = trace.events("instr.HttpRequest").stream()
                    .map(event -> event.getString("path") + " " + event.getString("route"))
                    .toList();
            assertEquals(List.of("/members/7 /members/{id}", "/members/8 /members/{id}", "/members/9 "), routes);
        }
    }

    @EachJdk(from = 17)
    void withoutTheOptionEachCallIsCounted(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("outermost = false"))) {
            program.ask("execute one");
            program.ask("forward /front");
            Trace trace = end(program);
            assertEquals(List.of("one", "one", "one"), statements(trace));
            assertEquals(List.of("/back", "/front"), paths(trace));
        }
    }

    /** A thousand threads on few carriers are all in the middle of their statements at the same time. */
    @EachJdk(from = 21)
    void eachVirtualThreadCountsItsOwnCalls(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("outermost = true"))) {
            program.ask("threads parks 1000");
            Trace trace = end(program);
            assertEquals(2_000, statements(trace).size());
            assertEquals(2_000, trace.count("targets.NestedCalls$Driver.execute"));
        }
    }

    /** A call ends as it began: the wrapper is switched off in the middle of a call, and on again in the middle of another. */
    @EachJdk(from = 17)
    void aLevelThatChangesInTheMiddleOfACallChangesNoCountOfIt(Jdk jdk) throws IOException {
        try (Dialog program = start(jdk, config("outermost = true"))) {
            String wrapper = "targets.NestedCalls$Pooled.execute";
            program.ask("execute waits");
            ControlSocket.level(program, wrapper, "off");
            assertEquals("done", program.ask("go on"));
            // The proxy is the outermost recorded call now.
            assertEquals("inside", program.ask("execute waits"));
            ControlSocket.level(program, wrapper, "time");
            assertEquals("done", program.ask("go on"));
            program.ask("execute last");
            Trace trace = end(program);
            assertEquals(List.of("waits", "waits", "last"), statements(trace));
            assertEquals(2, trace.count(wrapper), "the call that began at level off is not recorded");
            assertEquals(3, trace.count("targets.NestedCalls$Proxy.execute"));
        }
    }
}
