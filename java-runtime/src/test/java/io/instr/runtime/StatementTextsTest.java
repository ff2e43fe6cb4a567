package io.instr.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How statements of one measured call are added up by their texts. */
class StatementTextsTest {

    private static final int CELL = 3;

    private final Class<?> type;
    private final Object statements;

    StatementTextsTest() throws Exception {
        type = Class.forName("java.instr.StatementTexts$InCall");
        Constructor<?> constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        statements = constructor.newInstance();
    }

    @Test
    void equalTextsAreAddedUpAndOtherCellsAreNot() throws Exception {
        add(CELL, 10, 20, "a");
        add(CELL, 30, 45, "a");
        add(CELL, 50, 51, "b");
        add(CELL + 1, 60, 61, "a");
        assertEquals(List.of("4 a 1 1", "3 b 1 1", "3 a 2 25"), all());
    }

    /** A pool's statement around that of a driver, which may be executed by another method of it. */
    @Test
    void aStatementWithinAnotherOneCountsOnce() throws Exception {
        begin(CELL, 10);
        begin(CELL, 11);
        add(CELL, 12, 18, "a");
        end(11, 19, "a");
        end(10, 20, "a");
        begin(CELL, 30);
        add(CELL, 32, 38, "within");
        end(30, 40, "around");
        assertEquals(List.of("3 around 1 10", "3 a 1 10"), all());
    }

    /** Such as the test of a connection before a statement, or what is executed for each row. */
    @Test
    void noneOfSeveralEqualStatementsWithinAnotherOneCounts() throws Exception {
        begin(CELL, 10);
        add(CELL, 11, 12, "a");
        add(CELL, 13, 14, "a");
        add(CELL, 15, 16, "b");
        add(CELL, 17, 18, "a");
        end(10, 20, "a");
        add(CELL, 30, 35, "b");
        assertEquals(List.of("3 b 1 5", "3 a 1 10"), all());
    }

    @Test
    void aTextThatOnlyTheInnerStatementHasIsThatOfTheOuterOne() throws Exception {
        begin(CELL, 10);
        add(CELL, 11, 12, "test of the connection");
        add(CELL, 13, 18, "a");
        add(CELL, 18, 19, null);
        end(10, 20, null);
        add(CELL, 30, 40, null);
        assertEquals(List.of("3 null 1 10", "3 a 1 10"), all());
    }

    @Test
    void aStatementThatBeganBeforeTheMeasuredCallIsNoneOfIt() throws Exception {
        end(5, 20, "around the call");
        add(CELL, 30, 40, "a");
        assertEquals(List.of("3 a 1 10"), all());
    }

    @Test
    void ofManyTextsThoseThatTookLongestAreKept() throws Exception {
        for (int i = 0; i < 40; i++) {
            add(CELL, i * 1000, i * 1000 + 100 - i, "t" + i);
        }
        add(CELL, 90_000, 90_500, "x".repeat(5_000));
        List<String> all = all();
        assertEquals(16, all.size());
        assertEquals("3 " + "x".repeat(4_000) + " 1 500", all.get(0));
        assertEquals("3 t0 1 100", all.get(15));
    }

    private void add(int cell, long start, long end, String text) throws Exception {
        begin(cell, start);
        end(start, end, text);
    }

    private void begin(int cell, long start) throws Exception {
        Method begin = type.getDeclaredMethod("begin", int.class, long.class);
        begin.setAccessible(true);
        begin.invoke(statements, cell, start);
    }

    private void end(long start, long end, String text) throws Exception {
        Method ended = type.getDeclaredMethod("end", long.class, long.class, String.class);
        ended.setAccessible(true);
        ended.invoke(statements, start, end, text);
    }

    /** Cell, text, calls and time of each. */
    private List<String> all() throws Exception {
        List<String> all = new ArrayList<>();
        for (Object of = get(statements, "first"); of != null; of = get(of, "next")) {
            all.add(get(of, "cell") + " " + get(of, "text") + " " + get(of, "calls") + " " + get(of, "time"));
        }
        return all;
    }

    private Object get(Object of, String name) throws Exception {
        Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }
}
