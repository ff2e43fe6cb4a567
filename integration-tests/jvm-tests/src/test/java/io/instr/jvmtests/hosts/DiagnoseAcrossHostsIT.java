package io.instr.jvmtests.hosts;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.instr.jvmtests.claims.LoadedBytes;
import io.instr.jvmtests.diagnosis.Diagnosed;
import io.instr.jvmtests.jvm.Awaiting;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import org.junit.jupiter.api.Tag;

/** A slow call whose time is spent in another JVM is one tree and one sentence. */
@Tag("timed")
class DiagnoseAcrossHostsIT {

    private static final double MOST_DIFFERENCE = 0.05;
    private static final String CLASSES = "shop.";
    private static final String SERVLET = "jakarta.servlet.http.HttpServlet";

    /** The bytecode of both JVMs. */
    private record Loaded(LoadedBytes ofOrders, LoadedBytes ofStock) {

        static Loaded atFreePorts() throws Exception {
            return new Loaded(LoadedBytes.atFreePort(), LoadedBytes.atFreePort());
        }

        List<Map<String, String>> methods() {
            return List.of(
                    ofOrders.ofClasses(CLASSES).methods(),
                    ofOrders.ofClasses("sun.net.www.http.HttpClient").methods(),
                    ofOrders.ofClasses("jdk.internal.net.http.MultiExchange").methods(),
                    ofStock.ofClasses(CLASSES).methods(),
                    ofStock.ofClasses(SERVLET).methods());
        }
    }

    /** By both clients: each order waits for one request, of which those for a rare item are slow. */
    @EachJdk(having = "jdb")
    void aSlowBranchInTheOtherJvmIsFound(Jdk jdk) throws Exception {
        Loaded loaded = Loaded.atFreePorts();
        try (TwoJvms both = start(jdk, loaded)) {
            List<Map<String, String>> original = loaded.methods();
            assertEquals("serving", both.orders().ask("serve"));
            assertFound(both, "serveUrl", "ask", "getResponseCode", 0);
            assertFound(both, "serveNet", "send", "send", 2);
            both.awaitNoClaim();
            assertEquals(original, loaded.methods(), "every body is the program's own again");
            both.quit();
        }
    }

    private static void assertFound(TwoJvms both, String method, String caller, String client, int at) {
        String pid = String.valueOf(both.stock().pid());
        Diagnosed diagnosed = Diagnosed.of(both.orders(), "shop.Orders." + method, "--slower-than", "20ms", "--with", pid);
        List<Diagnosed.Step> steps = diagnosed.assertLeadsThrough(List.of(caller, client, "service", "find", "inWarehouse"), 0.8);
        for (Diagnosed.Step step : steps) {
            boolean isInStock = steps.indexOf(step) > 1;
            assertEquals(isInStock ? pid : "", step.json().path("jvm").asText(), diagnosed::toString);
        }
        String sentence = diagnosed.json().path("sentence").asText();
        String way = "(?s)\\d+ % of the slow calls of Orders." + method + " is .*\\." + client + " -> JVM " + pid + ": .*Stock.find -> Stock.inWarehouse.* -> park";
        assertTrue(sentence.matches(way), sentence);
        double[] served = numbers(both.orders().ask("served"));
        double[] found = numbers(both.stock().ask("found"));
        double expected = (found[0] - found[1]) / (served[at] - served[at + 1]);
        Diagnosed.Step find = steps.get(3);
        assertTrue(Math.abs(find.share() - expected) <= MOST_DIFFERENCE, () -> "%.3f, but %.3f by the programs themselves: %s".formatted(find.share(), expected, diagnosed));
        // The slow requests of others are none of these.
        JsonNode basement = child(find.json(), "inBasement");
        assertEquals(0, basement.path("calls").asLong(), diagnosed::toString);
        assertTrue(diagnosed.json().path("notices").toString().contains("requests that take longer than"), diagnosed::toString);
    }

    private static JsonNode child(JsonNode node, String name) {
        for (JsonNode child : node.path("children")) {
            if (child.path("method").asText().contains("." + name + "(")) {
                return child;
            }
        }
        return node.path("no such child");
    }

    private static double[] numbers(String line) {
        return Arrays.stream(line.split(" ")).mapToDouble(Double::parseDouble).toArray();
    }

    /** The client is killed while both JVMs are changed for it. */
    @EachJdk(having = "jdb", oldestAndNewest = true)
    void nothingIsLeftInEitherJvmIfTheClientIsKilled(Jdk jdk) throws Exception {
        Loaded loaded = Loaded.atFreePorts();
        try (TwoJvms both = start(jdk, loaded)) {
            List<Map<String, String>> original = loaded.methods();
            assertEquals("serving", both.orders().ask("serve"));
            Process client = Diagnosed.start(both.orders(), "shop.Orders.serveUrl", "--slower-than", "20ms", "--with", String.valueOf(both.stock().pid()));
            try {
                // From then on the other JVM needs several slow requests, which are a quarter of a second apart, so that nothing ends before the client does.
                Awaiting.await(() -> claims(both.stock()), claims -> claims.contains("baggage.instr = 'd"));
                String ofOrders = claims(both.orders());
                String ofStock = claims(both.stock());
                assertTrue(ofOrders.contains("across hosts as d") && ofStock.contains("baggage.instr = 'd"), () -> ofOrders + ofStock);
            } finally {
                client.destroyForcibly().waitFor();
            }
            both.awaitNoClaim();
            Awaiting.await(loaded::methods, original::equals);
            both.quit();
        }
    }

    /** The other JVM causes 14 of the 40 ms. */
    @EachJdk(oldestAndNewest = true)
    void aJvmThatCausesLessThanHalfOfTheTimeIsPartOfTheAnswer(Jdk jdk) throws Exception {
        try (TwoJvms both = TwoJvms.start(jdk, TwoJvms.TO_STOCK, TwoJvms.FROM_ORDERS)) {
            Diagnosed diagnosed = queue(both, "ordered");
            String pid = String.valueOf(both.stock().pid());
            String sentence = diagnosed.json().path("sentence").asText();
            assertTrue(sentence.contains("-> JVM " + pid + ": ") && sentence.contains("Stock.inLobby"), diagnosed::toString);
            JsonNode service = named(diagnosed.json().path("tree"), "service");
            assertTrue(Math.abs(service.path("share").asDouble() - 14.0 / 40) <= 2 * MOST_DIFFERENCE, diagnosed::toString);
            assertTrue(diagnosed.json().path("notices").toString().contains("that no other JVM has explained"), diagnosed::toString);
            both.awaitNoClaim();
            both.quit();
        }
    }

    @EachJdk(oldestAndNewest = true)
    void ofAJvmThatCausesNothingItIsSaidHowMuchRemainsUnexplained(Jdk jdk) throws Exception {
        try (TwoJvms both = TwoJvms.start(jdk, TwoJvms.TO_STOCK, TwoJvms.FROM_ORDERS)) {
            Diagnosed diagnosed = queue(both, "queued");
            String notices = diagnosed.json().path("notices").toString();
            assertTrue(notices.matches(".*process " + both.stock().pid() + " is not part of the answer: (none|only [12]) of its.*"), diagnosed::toString);
            assertTrue(notices.matches(".*\"a share of (9\\d|100) % is time of HttpURLConnection.getResponseCode that no other JVM has explained.*"), diagnosed::toString);
            both.awaitNoClaim();
            both.quit();
        }
    }

    private static Diagnosed queue(TwoJvms both, String item) {
        assertEquals("serving", both.orders().ask("queue " + item));
        return Diagnosed.of(both.orders(), "shop.Orders.serveQueue", "--slower-than", "20ms", "--with", String.valueOf(both.stock().pid()));
    }

    /** The first node of this method on the way down. */
    private static JsonNode named(JsonNode node, String name) {
        JsonNode found = child(node, name);
        for (JsonNode below : node.path("children")) {
            found = found.isMissingNode() ? named(below, name) : found;
        }
        return found;
    }

    /** Before anything is measured. */
    @EachJdk(oldestAndNewest = true)
    void whatDoesNotLetRequestsCarryTheContextIsRefusedAtOnce(Jdk jdk) throws Exception {
        try (TwoJvms both = TwoJvms.start(jdk, "", "")) {
            both.orders().ask("serve");
            String stock = String.valueOf(both.stock().pid());
            assertRefused(both, "`baggage-to` of process " + both.orders().pid(), "--with", stock);
            assertRefused(both, "`baggage-from` of process " + stock, "--with", stock);
            assertRefusals(both);
            assertFalse(claims(both.orders()).contains("diagnosis"), () -> claims(both.orders()));
            both.quit();
        }
        try (TwoJvms both = TwoJvms.start(jdk, TwoJvms.TO_STOCK, "")) {
            both.orders().ask("serve");
            String stock = String.valueOf(both.stock().pid());
            assertRefused(both, "[conditions] lacks `baggage-from` of process " + stock, "--with", stock);
            both.quit();
        }
    }

    /** It believes the baggage of others only. */
    @EachJdk(oldestAndNewest = true)
    void aJvmThatGetsNoRequestOfTheContextDropsOut(Jdk jdk) throws Exception {
        String fromOthers = TwoJvms.FROM_ORDERS.replace("127.0.0.*", "10.0.0.*");
        try (TwoJvms both = TwoJvms.start(jdk, TwoJvms.TO_STOCK, fromOthers)) {
            both.orders().ask("serve");
            assertNotice(both, notices -> notices.contains("no request of the context arrived within") && notices.contains("has sent") && notices.contains("`baggage-from` in [conditions]"));
            both.awaitNoClaim();
            both.quit();
        }
    }

    private static void assertNotice(TwoJvms both, Predicate<String> isExpected) {
        Diagnosed diagnosed = Diagnosed.of(both.orders(), "shop.Orders.serveUrl", "--slower-than", "20ms", "--with", String.valueOf(both.stock().pid()));
        String notices = diagnosed.json().path("notices").toString();
        assertTrue(isExpected.test(notices), diagnosed::toString);
        assertTrue(diagnosed.json().path("sentence").asText().endsWith("HttpURLConnection.getResponseCode -> socket read"), diagnosed::toString);
    }

    /** Before anything is begun. */
    private static void assertRefusals(TwoJvms both) {
        String orders = String.valueOf(both.orders().pid());
        String stock = String.valueOf(both.stock().pid());
        List<List<String>> wrong = List.of(
                List.of("is the one that is diagnosed", "--with", orders),
                List.of("is named twice", "--with", stock, "--with", stock),
                List.of("does not listen to instr", "--with", String.valueOf(ProcessHandle.current().pid())),
                List.of("--with", "--with", stock, "--keep"));
        for (List<String> of : wrong) {
            assertRefused(both, of.get(0), of.subList(1, of.size()).toArray(String[]::new));
        }
    }

    private static void assertRefused(TwoJvms both, String reason, String... options) {
        long start = System.nanoTime();
        Finished refused = Diagnosed.run(both.orders(), "shop.Orders.serveUrl", options);
        assertTrue(refused.exitCode() != 0 && refused.stderr().contains(reason), refused.stderr());
        assertTrue(System.nanoTime() - start < Duration.ofSeconds(5).toNanos(), refused.stderr());
    }

    private static String claims(Dialog program) {
        return ControlSocket.ask(program, "{\"ask\":\"claims\"}");
    }

    private static TwoJvms start(Jdk jdk, Loaded loaded) throws Exception {
        return TwoJvms.start(jdk, TwoJvms.TO_STOCK, TwoJvms.FROM_ORDERS, loaded.ofOrders().option(), loaded.ofStock().option());
    }
}
