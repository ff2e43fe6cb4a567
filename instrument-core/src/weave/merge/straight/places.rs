//! Where each instruction of the target went.

use super::NotStraight;

/// Set where an instruction begins; the lower 16 bits are its new offset.
pub(super) const START: u32 = 1 << 16;
/// Set if the instruction has a frame, too.
pub(super) const FRAMED: u32 = 1 << 17;
/// The bits from here on are the number of words on the frame's stack.
const DEPTH_SHIFT: u32 = 18;

/// Returns the mark of an instruction that has a frame with `depth` words on its stack.
pub(super) fn framed(depth: i32) -> u32 {
    FRAMED | (depth as u32) << DEPTH_SHIFT
}

/// New offsets by original ones, up to the present position of the walk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'p> {
    /// One entry for each byte of the target's code.
    pub(super) entries: &'p [u32],
    /// Where the target ends.
    pub(super) epilog: u16,
    /// `constant_pool_count` of the original class.
    pub(super) constants: u16,
}

impl Places<'_> {
    /// Returns the new offset of an instruction.
    #[inline]
    pub(super) fn instruction(&self, original: u16) -> Result<u16, NotStraight> {
        match self.entries.get(usize::from(original)) {
            Some(entry) if entry & START != 0 => Ok(*entry as u16),
            _ => Err(NotStraight),
        }
    }

    /// Returns the new offset of a jump target, if it has a frame with `depth` words on its stack as the jump has.
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
