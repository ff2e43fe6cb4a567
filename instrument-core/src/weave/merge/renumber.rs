//! Locals of the target that move, because the template's are directly after the parameters (requirements S4.10).

use classfile::instruction::{Instruction, Instructions};
use classfile::opcode;

use super::emit::local_bytes;
use crate::weave::body::local_access::LocalAccess;
use crate::weave::body::node::{NodeId, NodeKind, NodeList, Source};
use crate::weave::refusal::Refusal;

/// Slots from `from` on are `by` higher than before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Renumbering {
    pub(crate) from: u16,
    pub(crate) by: u16,
}

impl Renumbering {
    /// Nothing moves.
    pub(crate) const NONE: Renumbering = Renumbering { from: u16::MAX, by: 0 };

    /// Returns the new number of a slot.
    pub(crate) fn slot(self, slot: u16) -> Result<u16, Refusal> {
        let by = if slot >= self.from { self.by } else { 0 };
        slot.checked_add(by).ok_or(Refusal::SelfCheck("slot outside the frame"))
    }
}

/// The lowest slot, not among the parameters, that is not the second half of a long or double.
pub(crate) fn first_moved_slot(bytecode: &[u8], parameters: u16) -> u16 {
    let accesses = Instructions::new(bytecode).flatten().filter_map(|instruction| LocalAccess::of(&instruction));
    let mut wide: Vec<u16> = accesses.filter(|access| access.is_of_two_slots()).map(|access| access.slot).collect();
    wide.sort_unstable();
    let mut first_moved = parameters;
    for slot in wide {
        if slot.checked_add(1) == Some(first_moved) {
            // No instruction of two slots names the last one, so this is at most 65,535.
            first_moved = first_moved.saturating_add(1);
        }
    }
    first_moved
}

/// Writes an access in its shortest form.
fn write(access: LocalAccess, out: &mut Vec<u8>) {
    let ([high, low], [add_high, add_low]) = (access.slot.to_be_bytes(), access.add.to_be_bytes());
    match access.opcode {
        opcode::IINC if high == 0 && i8::try_from(access.add).is_ok() => out.extend([opcode::IINC, low, add_low]),
        opcode::IINC => out.extend([opcode::WIDE, opcode::IINC, high, low, add_high, add_low]),
        opcode::RET if high == 0 => out.extend([opcode::RET, low]),
        opcode::RET => out.extend([opcode::WIDE, opcode::RET, high, low]),
        opcode => {
            let (bytes, length) = local_bytes(opcode, access.slot);
            out.extend_from_slice(bytes.get(..length).unwrap_or_default());
        }
    }
}

/// Writes the accesses, each a node of its own, with their new slots.
pub(crate) fn apply(
    accesses: &[NodeId],
    target_code: &[u8],
    renumbering: Renumbering,
    list: &mut NodeList,
) -> Result<(), Refusal> {
    let fault = || Refusal::SelfCheck("access to a local");
    for id in accesses {
        let node = *list.get(*id)?;
        let bytes = target_code.get(node.start as usize..(node.start + node.length) as usize).ok_or_else(fault)?;
        let instruction = Instruction { offset: node.original, opcode: *bytes.first().ok_or_else(fault)?, bytes };
        let mut access = LocalAccess::of(&instruction).ok_or_else(fault)?;
        access.slot = renumbering.slot(access.slot)?;
        let start = list.made.len() as u32;
        write(access, &mut list.made);
        let length = list.made.len() as u32 - start;
        let node = list.get_mut(*id)?;
        (node.kind, node.start, node.length) = (NodeKind::Straight(Source::Synthesized), start, length);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(bytes: &[u8]) -> Option<LocalAccess> {
        LocalAccess::of(&Instruction { offset: 0, opcode: bytes[0], bytes })
    }

    #[test]
    fn every_form_is_read_and_written_the_shortest_way() {
        let cases: [(&[u8], u16, &[u8]); 9] = [
            (&[opcode::LLOAD_2], 3, &[opcode::LLOAD_3]),
            (&[opcode::ASTORE_3], 4, &[opcode::ASTORE, 4]),
            (&[opcode::DSTORE, 250], 255, &[opcode::DSTORE, 255]),
            (&[opcode::FLOAD, 255], 256, &[opcode::WIDE, opcode::FLOAD, 1, 0]),
            (&[opcode::WIDE, opcode::ILOAD, 0, 2], 3, &[opcode::ILOAD_3]),
            (&[opcode::IINC, 255, 0xFF], 256, &[opcode::WIDE, opcode::IINC, 1, 0, 0xFF, 0xFF]),
            (&[opcode::WIDE, opcode::IINC, 0, 9, 3, 0xE8], 10, &[opcode::WIDE, opcode::IINC, 0, 10, 3, 0xE8]),
            (&[opcode::RET, 3], 4, &[opcode::RET, 4]),
            (&[opcode::RET, 255], 256, &[opcode::WIDE, opcode::RET, 1, 0]),
        ];
        for (bytes, slot, expected) in cases {
            let mut out = Vec::new();
            write(LocalAccess { slot, ..access(bytes).unwrap() }, &mut out);
            assert_eq!(out, expected);
        }
        assert_eq!(access(&[opcode::LADD]), None);
    }

    #[test]
    fn the_first_moved_slot_does_not_cut_a_long() {
        assert_eq!(first_moved_slot(&[opcode::LSTORE_1, opcode::ISTORE_2], 2), 3);
        assert_eq!(first_moved_slot(&[opcode::LSTORE_2, opcode::DSTORE_1], 2), 4);
        assert_eq!(first_moved_slot(&[opcode::LSTORE_2, opcode::ISTORE_1], 2), 2);
    }
}
