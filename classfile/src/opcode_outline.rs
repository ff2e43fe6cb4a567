//! The opcode table boiled down to what a quick walk over code asks for.

use crate::opcode::{
    DLOAD, DSTORE, Flow, Form, GETFIELD, GETSTATIC, ILOAD_0, INVOKEDYNAMIC, INVOKEINTERFACE, INVOKESPECIAL,
    INVOKESTATIC, INVOKEVIRTUAL, ISTORE_0, LENGTHS, LLOAD, LSTORE, PUTFIELD, PUTSTATIC, ROWS,
};

/// What a walk over code needs to know of an opcode, packed for one look-up.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub struct Outline {
    /// Length in bytes; 0 where the operands decide and for unknown opcodes.
    pub length: u8,
    /// Slots of the locals that an opcode needs which names its slot itself: 1 for `iload_0`, 5 for `lload_3`. 0 for all others.
    pub implied_slots: u8,
    /// True for a known opcode without operands, or with operands that are only numbers.
    pub is_plain: bool,
    /// Words pushed minus words popped; 0 where the operands decide.
    pub effect: i8,
}

/// How to step over an instruction that always continues with the next one, without asking which it is: its
/// operands are taken out with masks.
#[derive(Clone, Copy, Debug)]
#[repr(align(8))]
pub struct Step {
    /// Length in bytes; 0 for instructions that are no steps.
    pub length: u8,
    /// Words pushed minus words popped, besides those that a field or method decides.
    pub effect: i8,
    /// All bits if the byte after the opcode is a slot.
    slot_mask: u8,
    /// Slots needed from the first one named, or from slot 0 where the opcode names its slot itself.
    slots: u8,
    /// Which bits of the two bytes after the opcode are an index of a constant.
    constant_mask: u16,
    /// 1 if there is one, 0 otherwise; a constant in one byte is in the upper one.
    constants: u8,
    /// How often the effect of the field or method counts: 1, -1 for stores, 0 if there is none.
    pub member_sign: i8,
}

impl Step {
    const NONE: Step =
        Step { length: 0, effect: 0, slot_mask: 0, slots: 0, constant_mask: 0, constants: 0, member_sign: 0 };

    /// Slots that the method must have for the instruction, given the byte after the opcode.
    #[inline]
    pub fn slots_needed(self, operand: u8) -> u16 {
        u16::from(operand & self.slot_mask) + u16::from(self.slots)
    }

    /// The constant, given the two bytes after the opcode; 0 if there is none.
    #[inline]
    pub fn constant(self, operands: [u8; 2]) -> u16 {
        let index = u16::from_be_bytes(operands) & self.constant_mask;
        if self.constant_mask == 0xFF00 { index >> 8 } else { index }
    }

    /// The highest constant below the one it has, so that a wrong constant 0 gives 65,535; 0 without any.
    #[inline]
    pub fn constant_below(self, constant: u16) -> u16 {
        constant.wrapping_sub(u16::from(self.constants))
    }
}

/// How to step over an instruction with this opcode.
#[inline]
pub fn step(opcode: u8) -> Step {
    // The array has 256 entries, so this never falls back.
    STEPS.get(usize::from(opcode)).copied().unwrap_or(Step::NONE)
}

static STEPS: [Step; 256] = steps();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler: an index out of bounds does not compile")]
const fn steps() -> [Step; 256] {
    let mut steps = [Step::NONE; 256];
    let outlines = outlines();
    let mut opcode = 0;
    while opcode < ROWS.len() {
        let number = opcode as u8;
        let (constant_mask, slot_mask, is_step) = match ROWS[opcode].form {
            Form::None | Form::Byte | Form::Short | Form::ArrayType => (0, 0, true),
            Form::ShortConstant => (0xFF00, 0, true),
            Form::Constant | Form::InvokeInterface | Form::InvokeDynamic => (0xFFFF, 0, true),
            Form::Local | Form::Increment => (0, 0xFF, true),
            _ => (0, 0, false),
        };
        if is_step && matches!(ROWS[opcode].flow, Flow::Next) {
            let slots = if slot_mask == 0 { outlines[opcode].implied_slots } else { slots_taken(number) as u8 };
            let (effect, member_sign) = match number {
                GETSTATIC | INVOKESTATIC | INVOKEDYNAMIC => (0, 1),
                PUTSTATIC => (0, -1),
                GETFIELD | INVOKEVIRTUAL | INVOKESPECIAL | INVOKEINTERFACE => (-1, 1),
                PUTFIELD => (-1, -1),
                _ => (outlines[opcode].effect, 0),
            };
            let length = LENGTHS[opcode];
            let constants = (constant_mask != 0) as u8;
            steps[opcode] = Step { length, effect, slot_mask, slots, constant_mask, constants, member_sign };
        }
        opcode += 1;
    }
    steps
}

/// Slots that a load or store takes whose slot is an operand: 2 for longs and doubles.
#[inline]
pub const fn slots_taken(opcode: u8) -> u16 {
    if matches!(opcode, LLOAD | DLOAD | LSTORE | DSTORE) { 2 } else { 1 }
}

/// The outline of an opcode.
#[inline]
pub fn outline(opcode: u8) -> Outline {
    // The array has 256 entries, so this never falls back.
    OUTLINES.get(usize::from(opcode)).copied().unwrap_or(UNKNOWN)
}

const UNKNOWN: Outline = Outline { length: 0, implied_slots: 0, is_plain: false, effect: 0 };

static OUTLINES: [Outline; 256] = outlines();

#[allow(clippy::indexing_slicing, reason = "evaluated by the compiler: an index out of bounds does not compile")]
const fn outlines() -> [Outline; 256] {
    let mut outlines = [UNKNOWN; 256];
    let mut opcode = 0;
    while opcode < ROWS.len() {
        outlines[opcode].length = LENGTHS[opcode];
        outlines[opcode].is_plain =
            matches!(ROWS[opcode].form, Form::None | Form::Byte | Form::Short | Form::ArrayType);
        if ROWS[opcode].pops >= 0 && ROWS[opcode].pushes >= 0 {
            outlines[opcode].effect = ROWS[opcode].pushes - ROWS[opcode].pops;
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opcode::{ALOAD, GOTO, IINC, ILOAD, IRETURN, LDC, LDC2_W, LLOAD_3, NEW, WIDE};

    #[test]
    fn steps_say_what_their_operands_are() {
        assert_eq!(step(LLOAD_3).slots_needed(77), 5);
        assert_eq!(step(ALOAD).slots_needed(7), 8);
        assert_eq!(step(LLOAD).slots_needed(255), 257);
        assert_eq!(step(IINC).slots_needed(4), 5);
        assert_eq!(step(NEW).slots_needed(9), 0);
        assert_eq!(step(LDC).constant([7, 9]), 7);
        assert_eq!(step(LDC2_W).constant([1, 2]), 0x102);
        assert_eq!(step(ILOAD).constant([1, 2]), 0);
        assert_eq!(step(NEW).constant_below(0), u16::MAX);
        assert_eq!(step(ILOAD).constant_below(0), 0);
        assert_eq!([GOTO, IRETURN, WIDE, 0xFF].map(|opcode| step(opcode).length), [0; 4]);
    }
}
