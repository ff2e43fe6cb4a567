package io.instr.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How statements of one measured call are added up by their texts. */
class StatementTextsTest {

    private static final int CELL = 3;

    private final Class<?> type;
    private Object first;

    StatementTextsTest() throws Exception {
        type = Class.forName("java.instr.StatementTexts$Executed");
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
        add(CELL, 12, 18, "a");
        add(CELL, 11, 19, "a");
        add(CELL, 10, 20, "a");
        add(CELL, 32, 38, "within");
        add(CELL, 30, 40, "around");
        assertEquals(List.of("3 around 1 10", "3 within 0 0", "3 a 1 10"), all());
    }

    @Test
    void aTextThatOnlyTheInnerStatementHasIsThatOfTheOuterOne() throws Exception {
        add(CELL, 12, 18, "a");
        add(CELL, 10, 20, null);
        add(CELL, 30, 40, null);
        assertEquals(List.of("3 null 1 10", "3 a 1 10"), all());
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
        Method add = type.getDeclaredMethod("add", type, int.class, long.class, long.class, String.class);
        add.setAccessible(true);
        first = add.invoke(null, first, cell, start, end, text);
    }

    /** Cell, text, calls and time of each. */
    private List<String> all() throws Exception {
        List<String> all = new ArrayList<>();
        for (Object of = first; of != null; of = get(of, "next")) {
            all.add(get(of, "cell") + " " + get(of, "text") + " " + get(of, "calls") + " " + get(of, "time"));
        }
        return all;
    }

    private Object get(Object of, String name) throws Exception {
        Field field = type.getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }
}
