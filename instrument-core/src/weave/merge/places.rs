//! Where each instruction of the target went: the one map from original to new offsets, filled by both walkers.

use crate::weave::body::node::NodeList;
use crate::weave::refusal::Refusal;

/// Set where an instruction begins; the lower 16 bits are its new offset.
pub(crate) const START: u32 = 1 << 16;
/// Set if the instruction has a frame, too.
const FRAMED: u32 = 1 << 17;
/// The bits from here on are the number of words on the frame's stack.
const DEPTH_SHIFT: u32 = 18;
/// Words on the stack where an exception arrives.
const THROWN: i32 = 1;

/// Something refers to an offset that is not that of an instruction of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutsideCode;

impl From<OutsideCode> for Refusal {
    fn from(_: OutsideCode) -> Refusal {
        Refusal::SelfCheck("offset outside the code")
    }
}

/// Returns the mark of an instruction that has a frame with `depth` words on its stack.
pub(crate) fn framed(depth: i32) -> u32 {
    FRAMED | (depth as u32) << DEPTH_SHIFT
}

/// New offsets by original ones; in the single pass, up to the present position of the walk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'p> {
    /// One entry for each byte of the target's code.
    pub(crate) entries: &'p [u32],
    /// Where the target ends.
    pub(crate) epilog: u16,
    /// Whether frames are marked in the entries, so that a handler must have one.
    pub(crate) has_frames: bool,
}

impl Places<'_> {
    /// Returns the new offset of an instruction.
    #[inline]
    pub(crate) fn instruction(&self, original: u16) -> Result<u16, OutsideCode> {
        match self.entries.get(usize::from(original)) {
            Some(entry) if entry & START != 0 => Ok(*entry as u16),
            _ => Err(OutsideCode),
        }
    }

    /// Returns the new offset of a jump target, if it has a frame with `depth` words on its stack as the jump has.
    #[inline]
    pub(crate) fn target(&self, original: u32, depth: i32) -> Result<u16, OutsideCode> {
        match self.entries.get(original as usize) {
            Some(entry) if entry & !0xFFFF == START | framed(depth) => Ok(*entry as u16),
            _ => Err(OutsideCode),
        }
    }

    /// Returns the new offset of an exception handler.
    #[inline]
    pub(crate) fn handler(&self, original: u16) -> Result<u16, OutsideCode> {
        if self.has_frames { self.target(original.into(), THROWN) } else { self.instruction(original) }
    }

    /// Returns the new offset of a place where something begins that also holds for the prolog: what began with the method still does.
    #[inline]
    pub(crate) fn start(&self, original: u16) -> Result<u16, OutsideCode> {
        if original == 0 { Ok(0) } else { self.instruction(original) }
    }

    /// Returns the new offset of an exclusive end.
    #[inline]
    pub(crate) fn end(&self, original: u32) -> Result<u16, OutsideCode> {
        if original as usize == self.entries.len() {
            return Ok(self.epilog);
        }
        self.instruction(u16::try_from(original).map_err(|_| OutsideCode)?)
    }
}

/// Fills the entries of `length` bytes of code from the nodes, after layout.
pub(crate) fn fill(list: &NodeList, length: usize, entries: &mut Vec<u32>) -> Result<(), OutsideCode> {
    entries.clear();
    entries.resize(length, 0);
    let nodes = list.nodes.get(list.target.start as usize..list.target.end as usize).ok_or(OutsideCode)?;
    for (index, node) in nodes.iter().enumerate() {
        let first = node.original as usize;
        let end = nodes.get(index + 1).map_or(length, |next| next.original as usize);
        for (entry, offset) in entries.get_mut(first..end).ok_or(OutsideCode)?.iter_mut().zip(node.offset..) {
            *entry = START | offset;
        }
    }
    // What was inserted before an instruction belongs to it.
    for inserted in nodes.iter().filter(|node| !node.of_target) {
        *entries.get_mut(inserted.original as usize).ok_or(OutsideCode)? = START | inserted.offset;
    }
    Ok(())
}
