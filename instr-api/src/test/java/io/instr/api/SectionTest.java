package io.instr.api;

import static org.junit.jupiter.api.Assertions.assertNotSame;

import org.junit.jupiter.api.Test;

class SectionTest {

    @Test
    void withoutTheAgentNothingHappensHoweverItIsUsed() {
        Section outer = Section.begin("outer");
        try (Section inner = Section.begin(null)) {
            assertNotSame(outer, inner);
            outer.end();
            outer.end();
        }
    }
}
