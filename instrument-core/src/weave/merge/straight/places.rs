//! Where each instruction of the target went.

use super::NotStraight;

/// Set where an instruction begins; the lower 16 bits are its new offset.
pub(super) const START: u32 = 1 << 16;
/// Set where a frame stands, too.
pub(super) const FRAMED: u32 = 1 << 17;
/// Above this bit stand the words on the frame's stack.
const DEPTH_SHIFT: u32 = 18;

/// What is noted where a frame stands with so many words on its stack.
pub(super) fn framed(depth: i32) -> u32 {
    FRAMED | (depth as u32) << DEPTH_SHIFT
}

/// New offsets by original ones, as far as the walk has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'p> {
    /// One entry for each byte of the target's code.
    pub(super) entries: &'p [u32],
    /// Where the target ends.
    pub(super) epilog: u16,
    /// `constant_pool_count` of the class as it came.
    pub(super) constants: u16,
}

impl Places<'_> {
    /// Of an instruction.
    #[inline]
    pub(super) fn instruction(&self, original: u16) -> Result<u16, NotStraight> {
        match self.entries.get(usize::from(original)) {
            Some(entry) if entry & START != 0 => Ok(*entry as u16),
            _ => Err(NotStraight),
        }
    }

    /// Of an instruction that is jumped to with so many words on the stack, so that it must have a frame that says the same.
    #[inline]
    pub(super) fn target(&self, original: u32, depth: i32) -> Result<u16, NotStraight> {
        match self.entries.get(original as usize) {
            Some(entry) if entry & !0xFFFF == START | framed(depth) => Ok(*entry as u16),
            _ => Err(NotStraight),
        }
    }

    /// Of an exclusive end.
    #[inline]
    pub(super) fn end(&self, original: u32) -> Result<u16, NotStraight> {
        if original as usize == self.entries.len() {
            return Ok(self.epilog);
        }
        self.instruction(u16::try_from(original).map_err(|_| NotStraight)?)
    }
}
