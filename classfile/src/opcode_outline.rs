//! The opcode table boiled down to what a quick walk over code asks for.

use crate::opcode::{DLOAD, DSTORE, Form, ILOAD_0, ISTORE_0, LENGTHS, LLOAD, LSTORE, ROWS};

/// What a walk over code needs to know of an opcode, packed for one look-up.
#[derive(Clone, Copy, Debug)]
pub struct Outline {
    /// Length in bytes; 0 where the operands decide and for unknown opcodes.
    pub length: u8,
    /// Slots of the locals that an opcode needs which names its slot itself: 1 for `iload_0`, 5 for `lload_3`. 0 for all others.
    pub implied_slots: u8,
    /// True for a known opcode without operands, or with operands that are only numbers.
    pub is_plain: bool,
}

/// Slots that a load or store takes whose slot is an operand: 2 for longs and doubles.
#[inline]
pub fn slots_taken(opcode: u8) -> u16 {
    if matches!(opcode, LLOAD | DLOAD | LSTORE | DSTORE) { 2 } else { 1 }
}

/// The outline of an opcode.
#[inline]
pub fn outline(opcode: u8) -> Outline {
    // The array has 256 entries, so this never falls back.
    OUTLINES.get(usize::from(opcode)).copied().unwrap_or(UNKNOWN)
}

const UNKNOWN: Outline = Outline { length: 0, implied_slots: 0, is_plain: false };

static OUTLINES: [Outline; 256] = outlines();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler: an index out of bounds does not compile")]
const fn outlines() -> [Outline; 256] {
    let mut outlines = [UNKNOWN; 256];
    let mut opcode = 0;
    while opcode < ROWS.len() {
        outlines[opcode].length = LENGTHS[opcode];
        outlines[opcode].is_plain =
            matches!(ROWS[opcode].form, Form::None | Form::Byte | Form::Short | Form::ArrayType);
        opcode += 1;
    }
    let mut number = 0;
    while number < 20 {
        // The families are int, long, float, double, reference.
        let words = if matches!(number / 4, 1 | 3) { 2 } else { 1 };
        outlines[ILOAD_0 as usize + number].implied_slots = number as u8 % 4 + words;
        outlines[ISTORE_0 as usize + number].implied_slots = number as u8 % 4 + words;
        number += 1;
    }
    outlines
}
