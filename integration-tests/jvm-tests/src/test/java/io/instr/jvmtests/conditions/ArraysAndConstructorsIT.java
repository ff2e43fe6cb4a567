package io.instr.jvmtests.conditions;

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
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntPredicate;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.junit.jupiter.api.Tag;

/** Conditions that look at elements of arrays and at arguments of constructors, against what the program does. */
@Tag("timed")
class ArraysAndConstructorsIT {

    private static final int ORDERS = 240;
    private static final String NO_RULE = """
            [[rule]]
            class = "other.**"
            """;
    private static final String ITEM = """
            package shop;

            public class Item {
                private final String name;
                final byte[] weights;

                public Item(String name, int weight) {
                    this.name = name;
                    weights = new byte[] {1, (byte) weight};
                }
            }
            """;
    private static final String ORDER = """
            package shop;

            public class Order extends Base {
                final Item[] items;
                private final Object anything;

                public Order(int number, String kind, long[] amounts) {
                    super(number % 10);
                    items = new Item[number % 4];
                    for (int i = 0; i < items.length; i++) items[i] = i == 2 ? null : new Item(kind + i, number % 5);
                    anything = number % 2 == 0 ? amounts : "none";
                }
            }
            """;
    private static final String BASE = """
            package shop;

            public class Base {
                public Base(int digit) {
                    if (digit == 9) throw new IllegalArgumentException();
                }
            }
            """;
    private static final String SHOP = """
            package shop;

            import java.util.Scanner;

            public class Shop {
                private final double[][] rates = {{1.5}, {2.5, 3.5}};

                public static void main(String[] none) {
                    System.out.println("ready");
                    Scanner lines = new Scanner(System.in);
                    while (lines.hasNextLine()) {
                        String[] words = lines.nextLine().split(" ");
                        if (words[0].equals("quit")) return;
                        System.out.println(orders(Integer.parseInt(words[1])));
                    }
                }

                private static String orders(int count) {
                    Shop shop = new Shop();
                    int made = 0;
                    for (int i = 0; i < count; i++) {
                        String[] kinds = {"card", i % 3 == 0 ? "cash" : "voucher"};
                        try {
                            shop.take(kinds, new Order(i, kinds[1], new long[] {i, i * 2}), i % 2 == 0 ? new char[] {'x', 'y'} : null);
                            made++;
                        } catch (IllegalArgumentException refused) {
                            // Of Base.
                        }
                    }
                    return "made " + made;
                }

                public void take(String[] kinds, Order order, char[] letters) {}
            }
            """;

    private final Path directory = RunDirectories.create();
    private final Map<String, Long> expected = new TreeMap<>();
    private final Map<String, Long> unreadable = new TreeMap<>();

    /** Only nine of ten orders can be made, and are taken. */
    private static final IntPredicate IS_MADE = number -> number % 10 != 9;

    @EachJdk
    void elementsAreRead(Jdk jdk) throws IOException {
        try (Dialog program = shop(jdk)) {
            program.ask("orders 10");
            claim(program, "take", "arg.0[1] = 'cash'", number -> number % 3 == 0, number -> false);
            claim(program, "take", "arg.1.items.length >= 2", number -> number % 4 >= 2, number -> false);
            claim(program, "take", "arg.1.items[1].name like 'voucher*'", number -> number % 4 >= 2 && number % 3 != 0, number -> number % 4 < 2);
            claim(program, "take", "arg.1.items.length > 0 and arg.1.items[0].weights[1] = 3", number -> number % 4 > 0 && number % 5 == 3, number -> false);
            claim(program, "take", "arg.1.items.length = 3 and arg.1.items[2].name = null", number -> number % 4 == 3, number -> false);
            claim(program, "take", "arg.1.anything[0] between 10 and 20", number -> number % 2 == 0 && number >= 10 && number <= 20, number -> number % 2 != 0);
            claim(program, "take", "arg.2[0] = 'x'", number -> number % 2 == 0, number -> false);
            claim(program, "take", "this.rates[1][1] = 3.5", number -> true, number -> false);
            claim(program, "take", "arg.0[5] = 'cash'", number -> false, number -> true);
            assertRefused(program, "take", "arg.1.items.size = 1", "column 13 of the condition: a shop.Item[] has no parts but its elements, as `[0]`, and `length`");
            assertRefused(program, "take", "arg.0[0][0] = 'c'", "column 9 of the condition: a java.lang.String is no array: only arrays have elements");
            assertRefused(program, "take", "arg.0[x] = 'c'", "column 7 of the condition: `x` is no index of an element");
            assertRefused(program, "take", "arg.1[0] = 'c'", "column 6 of the condition: a shop.Order is no array: only arrays have elements");
            assertRefused(program, "take", "arg.1.items[0].nme = 'c'", "column 16 of the condition: shop.Item has no field `nme`; did you mean `name`?");
            run(program);
        }
    }

    /** The constructor of the super class has not been called yet when the condition is evaluated; it throws for one number in ten. */
    @EachJdk
    void argumentsOfConstructorsAreRead(Jdk jdk) throws IOException {
        try (Dialog program = shop(jdk)) {
            program.ask("orders 10");
            claim(program, "Order.<init>", "arg.0 >= 100", number -> number >= 100, number -> false);
            claim(program, "Order.<init>", "arg.1 = 'cash' and arg.2[1] < 50", number -> number % 3 == 0 && number < 25, number -> false);
            // For none of these orders the constructor of the super class throws: what has begun there would not end.
            String inside = "{\"ask\":\"probe\",\"methods\":\"shop.Item.<init>\",\"within\":\"shop.Order.*\",\"when\":\"arg.0 < 9 and arg.1 = 'cash'\",\"seconds\":600}";
            String made = ControlSocket.ask(program, inside);
            assertTrue(made.contains("\"methods\":1,"), made);
            long items = IntStream.range(0, ORDERS).filter(number -> number < 9 && number % 3 == 0).mapToLong(number -> Math.min(number % 4, 2)).sum();
            expected.put("timed inside shop.Order.* when arg.0 < 9 and arg.1 = 'cash'", items);
            unreadable.put("arg.0 < 9 and arg.1 = 'cash'", 0L);
            assertRefused(program, "Order.<init>", "this.items.length = 1", "column 1 of the condition: when shop.Order.<init> begins, its object has no values yet");
            run(program);
        }
    }

    private void claim(Dialog program, String method, String condition, IntPredicate holds, IntPredicate cannotBeRead) {
        String made = ControlSocket.ask(program, request(method, condition));
        assertTrue(made.contains("\"methods\":1,") && made.contains("\"condition\":"), made);
        long calls = IntStream.range(0, ORDERS).filter(IS_MADE).filter(holds).count();
        if (calls > 0) expected.put("timed inside " + named(method) + " itself when " + condition, calls);
        unreadable.put(condition, IntStream.range(0, ORDERS).filter(IS_MADE).filter(cannotBeRead).count());
    }

    private static void assertRefused(Dialog program, String method, String condition, String reason) {
        String answer = ControlSocket.ask(program, request(method, condition));
        assertTrue(answer.contains("\"error\"") && answer.contains(reason), answer);
    }

    private static String named(String method) {
        return "shop." + (method.contains(".") ? "" : "Shop.") + method;
    }

    private static String request(String method, String condition) {
        return "{\"ask\":\"probe\",\"methods\":\"" + named(method) + "\",\"when\":\"" + condition + "\",\"seconds\":600}";
    }

    private void run(Dialog program) throws IOException {
        assertEquals("made " + ORDERS * 9 / 10, program.ask("orders " + ORDERS));
        JsonNode claims = new ObjectMapper().readTree(ControlSocket.ask(program, "{\"ask\":\"claims\"}")).path("claims");
        Map<String, Long> failed = new TreeMap<>();
        StreamSupport.stream(claims.spliterator(), false).map(claim -> claim.path("condition")).filter(JsonNode::isObject).forEach(figures -> {
            failed.put(figures.path("condition").asText(), figures.path("failed").asLong());
            String reason = figures.path("last_failure").asText();
            if (figures.path("condition").asText().startsWith("arg.0[5]")) assertEquals("index 5 of an array of length 2", reason);
        });
        assertEquals(unreadable, failed);
        program.send("quit");
        program.finish().assertExitCode(0);
        Map<String, Long> calls = new TreeMap<>();
        Finished.in(directory).trace().calls().forEach(call -> calls.merge(call.template(), 1L, Long::sum));
        assertEquals(expected, calls);
    }

    private Dialog shop(Jdk jdk) {
        String classes = Compilation.compiled(RunDirectories.create(), "shop", List.of(), ITEM, BASE, ORDER, SHOP).toString();
        Program program = Program.of(jdk, List.of("-Xverify:all", "-cp", classes), List.of("shop.Shop"));
        return program.talkWithAgent(AgentConfig.of(NO_RULE), directory);
    }
}
