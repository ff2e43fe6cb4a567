package io.instr.jvmtests.diagnosis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.instr.jvmtests.files.Compilation;
import io.instr.jvmtests.jvm.AgentConfig;
import io.instr.jvmtests.jvm.ControlSocket;
import io.instr.jvmtests.jvm.Dialog;
import io.instr.jvmtests.jvm.EachJdk;
import io.instr.jvmtests.jvm.Finished;
import io.instr.jvmtests.jvm.Jdk;
import io.instr.jvmtests.jvm.Program;
import io.instr.jvmtests.jvm.RunDirectories;
import java.io.File;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Tag;

/** Probes and diagnoses of calls for which a condition holds, against what the program does. */
@Tag("timed")
class ConditionsIT {

    private static final int ORDERS = 600;
    private static final String CONFIGURATION = """
            [conditions]
            getters = ["shop.Order.failing"]
            baggage-from = ["127.0.0.*", "0:0:0:0:0:0:0:1"]

            [[rule]]
            class = "other.**"
            """;
    private static final String ORDER = """
            package shop;

            public class Order extends Region {
                public enum Tier { GOLD, BASIC }

                private final String kind;
                private final int amount;
                private final Tier tier;
                private final Double weight;
                public int counted;

                public Order(int number) {
                    kind = new String[] {"card", "cash", "voucher"}[number % 3];
                    amount = number % 10;
                    tier = number % 2 == 0 ? Tier.GOLD : Tier.BASIC;
                    weight = number % 4 == 0 ? null : number % 4 / 2.0;
                }

                public String getKind() {
                    return kind;
                }

                public String counting() {
                    counted++;
                    return kind;
                }

                public String failing() {
                    throw new IllegalStateException(kind);
                }
            }
            """;
    private static final String REGION = """
            package shop;

            public class Region {
                public String region = "eu";
            }
            """;
    private static final String ORDERS_PROGRAM = """
            package shop;

            import java.util.Scanner;

            public class Orders {
                private final int id = 7;
                private static long sum;

                public static void main(String[] none) throws Exception {
                    System.out.println("ready");
                    Scanner lines = new Scanner(System.in);
                    while (lines.hasNextLine()) {
                        String[] words = lines.nextLine().split(" ");
                        if (words[0].equals("quit")) return;
                        if (words[0].equals("orders")) System.out.println(orders(Integer.parseInt(words[1])));
                        if (words[0].equals("serve")) {
                            Thread thread = new Thread(Orders::serveForEver);
                            thread.setDaemon(true);
                            thread.start();
                            System.out.println("serving");
                        }
                    }
                }

                private static String orders(int count) {
                    Orders orders = new Orders();
                    int counted = 0;
                    for (int i = 0; i < count; i++) {
                        Order order = new Order(i);
                        orders.take(order);
                        nest(4);
                        counted += order.counted;
                    }
                    return "counted " + counted;
                }

                public void take(Order order) {
                    pay(order.getKind(), order);
                    ship(order.getKind().charAt(0), order.hashCode());
                }

                public void pay(String kind, Object order) {
                    sum += kind.length() + id;
                }

                public static void ship(char kind, long number) {
                    sum += number;
                }

                public static void nest(int depth) {
                    if (depth > 0) nest(depth - 1);
                }

                private static void serveForEver() {
                    for (int i = 0; ; i++) serve(i % 4 == 0 ? "slow" : i % 4 == 2 ? "late" : "fast", i / 4);
                }

                public static void serve(String kind, int number) {
                    if (number % 2 == 0) {
                        if (kind.equals("slow")) inDatabase();
                        if (kind.equals("late")) inCache();
                    } else if (!kind.equals("fast")) {
                        sleep(1);
                    }
                }

                public static void inDatabase() {
                    sleep(30);
                }

                public static void inCache() {
                    sleep(30);
                }

                private static void sleep(int millis) {
                    try {
                        Thread.sleep(millis);
                    } catch (InterruptedException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
            """;
    private static final String SERVER = """
            package shop;

            import jakarta.servlet.http.HttpServlet;
            import jakarta.servlet.http.HttpServletRequest;
            import jakarta.servlet.http.HttpServletResponse;
            import java.io.IOException;
            import java.net.HttpURLConnection;
            import java.net.URL;
            import java.util.Scanner;
            import java.util.logging.LogManager;
            import org.apache.catalina.Context;
            import org.apache.catalina.startup.Tomcat;

            public class Server extends HttpServlet {
                public static void main(String[] work) throws Exception {
                    LogManager.getLogManager().reset();
                    Tomcat tomcat = new Tomcat();
                    tomcat.setBaseDir(work[0]);
                    tomcat.setPort(0);
                    Context context = tomcat.addContext("", work[0]);
                    Tomcat.addServlet(context, "shop", new Server());
                    context.addServletMappingDecoded("/*", "shop");
                    tomcat.getConnector();
                    tomcat.start();
                    System.out.println("ready");
                    Scanner lines = new Scanner(System.in);
                    while (lines.hasNextLine()) {
                        String[] words = lines.nextLine().split(" ");
                        if (words[0].equals("quit")) break;
                        if (words[0].equals("port")) {
                            System.out.println(tomcat.getConnector().getLocalPort());
                            continue;
                        }
                        URL url = new URL("http://localhost:" + tomcat.getConnector().getLocalPort() + words[1]);
                        HttpURLConnection connection = (HttpURLConnection) url.openConnection();
                        connection.setRequestMethod(words[0]);
                        for (int i = 2; i + 1 < words.length; i += 2) connection.setRequestProperty(words[i], words[i + 1]);
                        if (words[0].equals("POST")) {
                            connection.setDoOutput(true);
                            connection.getOutputStream().write("kind=body".getBytes());
                        }
                        System.out.println(new String(connection.getInputStream().readAllBytes()));
                    }
                    tomcat.stop();
                    tomcat.destroy();
                }

                @Override
                protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
                    // The body is there, whatever has been read of the request before.
                    work(request.getMethod());
                    response.getWriter().print("kind " + request.getParameter("kind"));
                }

                public static void work(String method) {}
            }
            """;

    /** Knows nothing of instr. */
    private static final String CLIENT = """
            package shop;

            import java.net.InetAddress;
            import java.net.Socket;
            import java.util.Scanner;

            public class Client {
                public static void main(String[] port) throws Exception {
                    System.out.println("ready");
                    Scanner lines = new Scanner(System.in);
                    while (lines.hasNextLine()) {
                        String[] words = lines.nextLine().split(" ");
                        if (words[0].equals("quit")) break;
                        InetAddress here = InetAddress.getByName(words[0]);
                        try (Socket socket = new Socket(InetAddress.getByName("127.0.0.1"), Integer.parseInt(port[0]), here, 0)) {
                            String baggage = words.length > 2 ? "baggage: " + words[2] + "\\r\\n" : "";
                            String request = "GET " + words[1] + " HTTP/1.1\\r\\nHost: shop\\r\\n" + baggage + "Connection: close\\r\\n\\r\\n";
                            socket.getOutputStream().write(request.getBytes());
                            System.out.println(new Scanner(socket.getInputStream()).nextLine().trim());
                        }
                    }
                }
            }
            """;

    private final Path directory = RunDirectories.create();
    private final Map<String, Long> expected = new TreeMap<>();

    /** A condition, what is recorded under it, and for which orders it holds. */
    private record Case(String method, String within, String condition, Predicate<Integer> holds) {}

    private static final List<Case> CASES = List.of(
            new Case("pay", null, "arg.0 = 'card'", number -> number % 3 == 0),
            new Case("pay", null, "arg.0=cash", number -> number % 3 == 1),
            new Case("pay", null, "arg.0 in ('card', 'cash')", number -> number % 3 != 2),
            new Case("pay", null, "arg.0 like 'c?s*' or arg.0 starts with 'vou'", number -> number % 3 != 0),
            new Case("pay", null, "this.id = 7 and not arg.0 = 'card'", number -> number % 3 != 0),
            new Case("pay", null, "arg.1.amount >= 8", number -> number % 10 >= 8),
            new Case("pay", "take", "arg.0.amount between 2 and 5", number -> number % 10 >= 2 && number % 10 <= 5),
            new Case("pay", "take", "arg.0.getKind() = 'cash'", number -> number % 3 == 1),
            new Case("pay", "take", "arg.0.tier = 'GOLD' and arg.0.weight > 0.5", number -> number % 4 == 2),
            new Case("pay", "take", "arg.0.weight = null", number -> number % 4 == 0),
            new Case("ship", "take", "arg.0.region = 'eu' and arg.0.amount < 1", number -> number % 10 == 0),
            new Case("ship", null, "arg.0 = 'v'", number -> number % 3 == 2));

    @EachJdk
    void callsAreRecordedIfTheConditionHolds(Jdk jdk) throws Exception {
        try (Dialog program = orders(jdk, "")) {
            program.ask("orders 3");
            for (Case of : CASES) {
                String made = probe(program, of.method, of.within, of.condition);
                assertTrue(made.contains("\"methods\":1,") && made.contains("\"condition\":"), made);
                expect(of.method, of.within, of.condition, IntStream.range(0, ORDERS).filter(of.holds::test).count());
            }
            assertTrue(probe(program, "nest", null, "arg.0 = 2").contains("\"methods\":1,"));
            expect("nest", null, "arg.0 = 2", ORDERS);
            assertEquals("counted 0", program.ask("orders " + ORDERS));
            for (JsonNode anchor : anchors(program)) {
                JsonNode figures = anchor.path("condition");
                long evaluated = anchor.path("method").asText().equals("nest") ? 5 * ORDERS : ORDERS;
                assertTrue(figures.path("evaluated").asLong() == evaluated && figures.path("failed").asLong() == 0, anchor::toString);
                assertEquals(expected.get(template(anchor, figures)), figures.path("held").asLong(), anchor::toString);
            }
            end(program);
        }
        assertEquals(expected, byTemplate());
    }

    private String template(JsonNode anchor, JsonNode figures) {
        String condition = " when " + figures.path("condition").asText();
        return expected.keySet().stream().filter(of -> of.endsWith(condition)).findFirst().orElseThrow(() -> new AssertionError(anchor));
    }

    /** A getter that throws, one that is not there in some objects, and what nobody may call. */
    @EachJdk(oldestAndNewest = true)
    void whatCannotBeReadIsCountedOrRefused(Jdk jdk) throws Exception {
        try (Dialog program = orders(jdk, "")) {
            program.ask("orders 3");
            assertTrue(probe(program, "take", null, "arg.0.failing() = 'cash'").contains("\"methods\":1,"));
            assertTrue(probe(program, "pay", null, "arg.1 = 'cash'").contains("\"methods\":1,"));
            Map<String, String> refused = new LinkedHashMap<>();
            refused.put("arg.0.counting() = 'cash'", "column 7 of the condition: shop.Order.counting() does more than to return a field");
            refused.put("arg.0.knd = 'cash'", "column 7 of the condition: shop.Order has no field `knd`; did you mean `kind`?");
            refused.put("arg.0.amount = 'cash'", "it is compared with a text, and is an int");
            refused.put("arg.0.kind > 5", "it is compared with a number (texts have quotes), and is a java.lang.String");
            refused.put("arg.1 = 5", "shop.Orders.take has argument 0 only");
            refused.put("arg.0.kind = 'cash", "column 14 of the condition: this quote is not closed");
            refused.put("htp.path = '/pay'", "did you mean `http`?");
            refused.put("sql like 'select*'", "shop.Orders.take is no method of a java.sql.Statement");
            refused.put("this.id = 7 and arg.0.kind.letters = 'a'", "column 28 of the condition: a java.lang.String has no parts");
            refused.put("arg.0.kind[0] = 'c'", "column 11 of the condition: a java.lang.String is no array: only arrays have elements");
            refused.put("mdc.tenant = 'a'", "column 1 of the condition: the class loader of shop.Orders has not loaded org.slf4j.MDC");
            refused.put("http.path = '/pay' or arg.0.kind = 'cash'", "column 23 of the condition");
            refused.forEach((condition, reason) -> {
                String answer = probe(program, "take", null, condition);
                assertTrue(answer.contains("\"error\"") && answer.contains(reason), condition + ": " + answer);
            });
            assertTrue(probe(program, "ship", null, "this.id = 7").contains("is static: there is no `this`"));
            assertEquals("counted 0", program.ask("orders " + ORDERS));
            List<JsonNode> anchors = anchors(program);
            assertEquals(2, anchors.size(), anchors::toString);
            List<String> reasons = List.of("failing() has thrown java.lang.IllegalStateException", "an object of shop.Order is neither text nor number");
            for (int i = 0; i < 2; i++) {
                JsonNode figures = anchors.get(i).path("condition");
                assertTrue(figures.path("failed").asLong() == ORDERS && figures.path("held").asLong() == 0, figures::toString);
                assertTrue(figures.path("last_failure").asText().contains(reasons.get(i)), figures::toString);
            }
            end(program);
        }
        assertEquals(Map.of(), byTemplate());
    }

    @EachJdk(oldestAndNewest = true)
    void conditionsOfTheConfigurationHoldFromTheFirstCall(Jdk jdk) throws Exception {
        String contexts = """
                [[context]]
                methods = "shop.Orders.pay"
                when = "arg.0 = 'card'"

                [[context]]
                in = "shop.Orders.take"
                methods = "shop.Orders.ship"
                when = "arg.0.tier = 'BASIC'"
                """;
        try (Dialog program = orders(jdk, contexts)) {
            assertEquals("counted 0", program.ask("orders " + ORDERS));
            end(program);
        }
        expect("pay", null, "arg.0 = 'card'", ORDERS / 3);
        expect("ship", "take", "arg.0.tier = 'BASIC'", ORDERS / 2);
        assertEquals(expected, byTemplate());
        AgentConfig mistaken = AgentConfig.of(CONFIGURATION + "[[context]]\nmethods = \"shop.Orders.pay\"\nwhen = \"arg.0 lik 'c*'\"\n");
        Finished wrong;
        try (Dialog program = Program.of(jdk, List.of("-cp", classes()), List.of("shop.Orders")).talkWithAgent(mistaken, RunDirectories.create())) {
            program.send("quit");
            wrong = program.finish();
        }
        assertTrue(wrong.stderr().contains("did you mean `like`?") && wrong.stderr().matches("(?s).*instr.toml:\\d+:15.*"), wrong.stderr());
    }

    @EachJdk(oldestAndNewest = true)
    void requestsAreChosenByWhatTheyAsk(Jdk jdk) throws Exception {
        Program server = server(jdk);
        Map<String, Long> conditions = new LinkedHashMap<>();
        conditions.put("http.path = '/pay'", 4L);
        conditions.put("http.path = '/pay' and http.query.kind = 'very slow'", 1L);
        conditions.put("http.method = 'POST'", 1L);
        conditions.put("http.header.X-Tenant in ('a', 'b')", 2L);
        conditions.put("http.path like '/p*' and arg.0 = 'GET'", 4L);
        conditions.put("baggage.tier = 'gold one'", 1L);
        try (Dialog program = server.talkWithAgent(AgentConfig.of(CONFIGURATION), directory)) {
            program.ask("GET /first");
            conditions.forEach((condition, calls) -> {
                String made = ControlSocket.ask(program, request("shop.Server.work", null, condition));
                assertTrue(made.contains("\"methods\":1,") && !made.contains("\"methods\":0}"), made);
                boolean both = condition.contains("arg.0");
                String begins = "*.servlet.http.HttpServlet.service" + (both ? " > shop.Server.work itself" : "");
                expected.put("timed inside " + begins + " when " + condition, calls);
            });
            assertEquals("kind very slow", program.ask("GET /pay?a=1&kind=very+slow"));
            assertEquals("kind fast", program.ask("GET /pay?kind=fast X-Tenant a"));
            assertEquals("kind body", program.ask("POST /pay X-Tenant b"));
            assertEquals("kind null", program.ask("GET /pay baggage tenant=7,tier=gold%20one;x=1"));
            assertEquals("kind null", program.ask("GET /page X-Tenant c"));
            for (JsonNode anchor : anchors(program)) {
                assertEquals(0, anchor.path("condition").path("failed").asLong(), anchor::toString);
            }
            end(program);
        }
        assertEquals(expected, byTemplate());
    }

    /** What one JVM puts into the header {@code baggage} chooses calls in another one, if it is believed there. */
    @EachJdk(oldestAndNewest = true)
    void baggageOfAnotherJvmChoosesCalls(Jdk jdk) throws Exception {
        String believed = CONFIGURATION.replaceAll("baggage-from = .*", "baggage-from = [\"127.0.0.1\"]");
        String condition = "baggage.tenant = '7'";
        String classes = Compilation.compiled(RunDirectories.create(), "client", List.of(), CLIENT).toString();
        try (Dialog server = server(jdk).with("-Djava.net.preferIPv4Stack=true").talkWithAgent(AgentConfig.of(believed), directory)) {
            server.ask("GET /first");
            String made = ControlSocket.ask(server, request("shop.Server.work", null, condition));
            assertTrue(made.contains("\"methods\":1,"), made);
            Program client = Program.of(jdk, List.of("-cp", classes), List.of("shop.Client", server.ask("port")));
            try (Dialog other = client.talk(List.of(), RunDirectories.create())) {
                assertEquals("ready", other.next());
                send(other, 5, "127.0.0.1 /pay tenant=7,tier=gold");
                send(other, 4, "127.0.0.1 /pay tenant=8");
                send(other, 3, "127.0.0.1 /pay");
                send(other, 6, "127.0.0.2 /pay tenant=7");
                end(other);
            }
            List<JsonNode> anchors = anchors(server);
            assertEquals(1, anchors.size(), anchors::toString);
            JsonNode figures = anchors.get(0).path("condition");
            List<Long> counted = Stream.of("evaluated", "held", "failed").map(name -> figures.path(name).asLong()).toList();
            assertEquals(List.of(18L, 5L, 6L), counted, figures::toString);
            assertTrue(figures.path("last_failure").asText().startsWith("baggage of this client is not believed"), figures::toString);
            end(server);
        }
        assertEquals(Map.of("timed inside *.servlet.http.HttpServlet.service when " + condition, 5L), byTemplate());
    }

    private static void send(Dialog client, int count, String request) {
        IntStream.range(0, count).forEach(i -> assertEquals("HTTP/1.1 200", client.ask(request)));
    }

    private static Program server(Jdk jdk) {
        String tomcat = Arrays.stream(System.getProperty("java.class.path").split(File.pathSeparator))
                .filter(jar -> jar.matches(".*[/\\\\]tomcat-[^/\\\\]*\\.jar"))
                .collect(Collectors.joining(File.pathSeparator));
        List<Path> jars = Arrays.stream(tomcat.split(File.pathSeparator)).map(Path::of).toList();
        Path classes = Compilation.compiled(RunDirectories.create(), "server", jars, SERVER);
        return Program.of(jdk, List.of("-cp", classes + File.pathSeparator + tomcat), List.of("shop.Server", RunDirectories.create().toString()));
    }

    /** A class of the name of SLF4J's, which is enough to be asked. */
    @EachJdk(oldestAndNewest = true)
    void theLoggingContextIsRead(Jdk jdk) throws Exception {
        String context = """
                package org.slf4j;

                public class MDC {
                    private static final ThreadLocal<String> TENANT = new ThreadLocal<>();

                    public static void put(String key, String value) {
                        TENANT.set(value);
                    }

                    public static String get(String key) {
                        return key.equals("tenant") ? TENANT.get() : null;
                    }
                }
                """;
        String logging = ORDERS_PROGRAM.replace("orders.take(order);", "org.slf4j.MDC.put(\"tenant\", order.getKind());\norders.take(order);");
        String classes = Compilation.compiled(RunDirectories.create(), "logging", List.of(), REGION, ORDER, context, logging).toString();
        Program program = Program.of(jdk, List.of("-cp", classes), List.of("shop.Orders"));
        try (Dialog dialog = program.talkWithAgent(AgentConfig.of(CONFIGURATION), directory)) {
            dialog.ask("orders 3");
            String made = probe(dialog, "pay", null, "mdc.tenant = 'card' and mdc.other = null");
            assertTrue(made.contains("\"methods\":1,"), made);
            assertEquals("counted 0", dialog.ask("orders " + ORDERS));
            for (JsonNode anchor : anchors(dialog)) {
                assertEquals(0, anchor.path("condition").path("failed").asLong(), anchor::toString);
            }
            end(dialog);
        }
        expect("pay", null, "mdc.tenant = 'card' and mdc.other = null", ORDERS / 3);
        assertEquals(expected, byTemplate());
    }

    /** Two kinds of calls are slow, each in a branch of its own. */
    @EachJdk(oldestAndNewest = true)
    void aDiagnosisIsAboutTheCallsForWhichTheConditionHolds(Jdk jdk) throws Exception {
        try (Dialog program = orders(jdk, "")) {
            program.ask("serve");
            for (String[] of : new String[][] {{"slow", "inDatabase"}, {"late", "inCache"}}) {
                Diagnosed diagnosed = Diagnosed.of(program, "shop.Orders.serve", "--when", "arg.0 = '" + of[0] + "'", "--slower-than", "15ms");
                diagnosed.assertLeadsThrough(List.of(of[1]), 0.8);
                assertEquals("arg.0 = '" + of[0] + "'", diagnosed.json().path("condition").asText(), diagnosed::toString);
                assertTrue(diagnosed.json().path("context").isNull(), diagnosed::toString);
            }
            Finished refused = Diagnosed.run(program, "shop.Orders.serve", "--when", "arg.7 = 1");
            assertTrue(refused.exitCode() != 0 && refused.stderr().contains("shop.Orders.serve has arguments 0 to 1"), refused.stderr());
            end(program);
        }
    }

    private Dialog orders(Jdk jdk, String contexts) throws IOException {
        Program program = Program.of(jdk, List.of("-cp", classes()), List.of("shop.Orders"));
        return program.talkWithAgent(AgentConfig.of(CONFIGURATION + contexts), directory);
    }

    private static String classes() {
        return Compilation.compiled(RunDirectories.create(), "orders", List.of(), REGION, ORDER, ORDERS_PROGRAM).toString();
    }

    private static void end(Dialog program) {
        program.send("quit");
        program.finish().assertExitCode(0);
    }

    private static String probe(Dialog program, String method, String within, String condition) {
        return ControlSocket.ask(program, request("shop.Orders." + method, within == null ? null : "shop.Orders." + within, condition));
    }

    private static String request(String method, String within, String condition) {
        String context = within == null ? "" : "\"within\":\"" + within + "\",";
        return "{\"ask\":\"probe\",\"methods\":\"" + method + "\"," + context + "\"when\":\"" + condition + "\",\"seconds\":600}";
    }

    private void expect(String method, String within, String condition, long calls) {
        String context = within == null ? "shop.Orders." + method + " itself" : "shop.Orders." + within;
        expected.put("timed inside " + context + " when " + condition, calls);
    }

    private static List<JsonNode> anchors(Dialog program) throws IOException {
        JsonNode claims = new ObjectMapper().readTree(ControlSocket.ask(program, "{\"ask\":\"claims\"}")).path("claims");
        return StreamSupport.stream(claims.spliterator(), false).filter(claim -> claim.has("condition")).toList();
    }

    private Map<String, Long> byTemplate() {
        Map<String, Long> calls = new TreeMap<>();
        Finished.in(directory).trace().calls().forEach(call -> calls.merge(call.template(), 1L, Long::sum));
        return calls;
    }
}
