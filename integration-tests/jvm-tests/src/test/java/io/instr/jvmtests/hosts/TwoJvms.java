package io.instr.jvmtests.hosts;

import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/** {@code shop.Orders} in one JVM, which sends requests to {@code shop.Stock} on Tomcat in another one, both with the agent. */
record TwoJvms(Dialog orders, Dialog stock, Path ofOrders, Path ofStock) implements AutoCloseable {

    static final String TO_STOCK = "[conditions]\nbaggage-to = [\"127.0.0.1\"]\n";
    static final String FROM_ORDERS = "[conditions]\nbaggage-from = [\"127.0.0.*\"]\n";
    private static final String NO_RULE = "[[rule]]\nclass = \"other.**\"\n";
    private static final Path SOURCES = Path.of("src/test/two-jvms/shop").toAbsolutePath();

    static TwoJvms start(Jdk jdk, String forOrders, String forStock, String ordersOption, String stockOption) throws IOException {
        String tomcat = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(jar -> jar.matches(".*[/\\\\]tomcat-[^/\\\\]*\\.jar"))
                .collect(Collectors.joining(File.pathSeparator));
        List<Path> jars = Arrays.stream(tomcat.split(File.pathSeparator)).map(Path::of).toList();
        String[] sources = {Files.readString(SOURCES.resolve("Stock.java")), Files.readString(SOURCES.resolve("Orders.java"))};
        String classPath = Compilation.compiled(RunDirectories.create(), "shop", jars, sources) + File.pathSeparator + tomcat;
        Path ofOrders = RunDirectories.create();
        Path ofStock = RunDirectories.create();
        Program answering = Program.of(jdk, List.of("-cp", classPath, stockOption), List.of("shop.Stock", RunDirectories.create().toString()));
        Dialog stock = answering.talkWithAgent(AgentConfig.of(forStock + NO_RULE), ofStock);
        Program asking = Program.of(jdk, List.of("-cp", classPath, ordersOption), List.of("shop.Orders", stock.ask("port")));
        return new TwoJvms(asking.talkWithAgent(AgentConfig.of(forOrders + NO_RULE), ofOrders), stock, ofOrders, ofStock);
    }

    static TwoJvms start(Jdk jdk, String forOrders, String forStock) throws IOException {
        return start(jdk, forOrders, forStock, "-Dnothing", "-Dnothing");
    }

    /** No claim of anybody is left in either. */
    void awaitNoClaim() {
        for (Dialog program : List.of(orders, stock)) {
            Awaiting.await(() -> ControlSocket.ask(program, "{\"ask\":\"claims\"}"), claims -> !claims.contains("\"user\"") && !claims.contains("\"diagnosis\""));
        }
    }

    void quit() {
        for (Dialog program : List.of(orders, stock)) {
            program.send("quit");
            program.finish().assertExitCode(0);
        }
    }

    static Map<String, Long> recorded(Path directory) {
        Map<String, Long> calls = new TreeMap<>();
        Finished.in(directory).trace().calls().forEach(call -> calls.merge(call.template(), 1L, Long::sum));
        return calls;
    }

    @Override
    public void close() {
        orders.close();
        stock.close();
    }
}
