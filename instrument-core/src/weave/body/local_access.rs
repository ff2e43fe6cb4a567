//! Which local an instruction touches, whatever the form it is written in.

use classfile::instruction::Instruction;
use classfile::opcode::{self, Form};
use classfile::opcode_outline;

/// Opcode of the form with an operand, slot and, of `iinc`, the value added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LocalAccess {
    pub(crate) opcode: u8,
    pub(crate) slot: u16,
    pub(crate) add: i16,
}

impl LocalAccess {
    /// The access to a local by an instruction; `None` for instructions that touch none.
    pub(crate) fn of(instruction: &Instruction<'_>) -> Option<LocalAccess> {
        let (opcode, bytes) = (instruction.opcode, instruction);
        Some(match opcode {
            opcode::ILOAD_0..=opcode::ALOAD_3 => LocalAccess::short(opcode - opcode::ILOAD_0, opcode::ILOAD),
            opcode::ISTORE_0..=opcode::ASTORE_3 => LocalAccess::short(opcode - opcode::ISTORE_0, opcode::ISTORE),
            opcode::IINC => LocalAccess { opcode, slot: bytes.u1(0).into(), add: i16::from(bytes.u1(1) as i8) },
            opcode::WIDE => LocalAccess { opcode: bytes.u1(0), slot: bytes.u2(1), add: bytes.u2(3) as i16 },
            _ if opcode::info(opcode)?.form == Form::Local => LocalAccess { opcode, slot: bytes.u1(0).into(), add: 0 },
            _ => return None,
        })
    }

    /// Four opcodes for each kind, one for each of the first four slots.
    fn short(index: u8, first: u8) -> LocalAccess {
        LocalAccess { opcode: first + index / 4, slot: u16::from(index % 4), add: 0 }
    }

    pub(crate) fn is_of_two_slots(self) -> bool {
        opcode_outline::slots_taken(self.opcode) == 2
    }
}
