//! The target's frames, copied while its code is walked (JVMS 4.7.4): offsets moved, locals filled up and followed by the template's.

use classfile::ByteReader;
use classfile::stack_map::{FrameDecoder, FrameEncoder, VerificationType};

use super::Bailout;
use crate::weave::merge::frame_types::{MOST_TYPES, MadeObject, append_extended, move_made_objects};
use crate::weave::merge::places::Places;

/// Memory of the copy.
#[derive(Debug, Default)]
pub(crate) struct FrameMemory {
    /// The present frame of the target.
    locals: Vec<VerificationType>,
    stack: Vec<VerificationType>,
    /// The frame as it is written.
    new_locals: Vec<VerificationType>,
    new_stack: Vec<VerificationType>,
    encoder: FrameEncoder,
}

/// Reads frames and writes them.
pub(super) struct FrameCopy<'f, 'm> {
    decoder: FrameDecoder<'f, 'm>,
    encoder: &'m mut FrameEncoder,
    new_locals: &'m mut Vec<VerificationType>,
    new_stack: &'m mut Vec<VerificationType>,
    max_locals: u16,
    /// `constant_pool_count` of the original class.
    constants: u16,
    /// Types in all frames together, written out.
    types: usize,
    /// The entries after the target's locals in all of its frames.
    added: &'f [VerificationType],
}

impl<'f, 'm> FrameCopy<'f, 'm> {
    /// A copy of the frames in `content`; `implied` gives the locals that the descriptor implies.
    pub(super) fn new(
        content: Option<&'f [u8]>,
        implied: &[VerificationType],
        (max_locals, constants): (u16, u16),
        added: &'f [VerificationType],
        memory: &'m mut FrameMemory,
    ) -> Result<FrameCopy<'f, 'm>, Bailout> {
        let FrameMemory { locals, stack, new_locals, new_stack, encoder } = memory;
        locals.clear();
        locals.extend_from_slice(implied);
        encoder.begin(content.is_some().then_some(implied));
        let reader = ByteReader::new(content.unwrap_or(&[0, 0]), 0, "StackMapTable");
        let decoder = FrameDecoder::new(reader, locals, stack)?;
        Ok(FrameCopy { decoder, encoder, new_locals, new_stack, max_locals, constants, types: 0, added })
    }

    /// Reads the next frame and returns its original offset; `u32::MAX` after the last.
    pub(super) fn next_offset(&mut self) -> Result<u32, Bailout> {
        let offset = self.decoder.advance()?;
        if self.decoder.highest_class() >= self.constants {
            return Err(Bailout);
        }
        Ok(offset.unwrap_or(u32::MAX))
    }

    /// The types of the present frame.
    pub(super) fn types(&self) -> impl Iterator<Item = &VerificationType> {
        self.decoder.locals().iter().chain(self.decoder.stack())
    }

    /// Writes the present frame at its new offset, unless it is not `wanted`. Returns the words on its stack.
    pub(super) fn copy(&mut self, new_offset: u32, wanted: bool, places: &Places<'_>) -> Result<i32, Bailout> {
        let stack = self.decoder.stack();
        let words = stack.iter().map(|entry| entry.slots()).sum::<usize>() as i32;
        if !wanted {
            return Ok(words);
        }
        // What makes an object precedes it in all code that compilers write.
        let new_place = |object: MadeObject| match object {
            MadeObject::OfTarget(original) => {
                let place = places.instruction(u16::try_from(original).map_err(|_| Bailout)?)?;
                Ok(u32::from(place))
            }
            MadeObject::OfTemplate(_) => Err(Bailout),
        };
        self.new_stack.clear();
        self.new_stack.extend_from_slice(stack);
        move_made_objects(self.new_stack, new_place)?;
        self.types += stack.len();
        // The first frame may say that its locals are those of the descriptor, without the ones that the merge adds.
        let in_order = if self.decoder.locals_changed() || self.encoder.count() == 0 {
            self.new_locals.clear();
            append_extended(self.decoder.locals(), self.max_locals, self.added, self.new_locals)?;
            move_made_objects(self.new_locals, new_place)?;
            self.types += self.new_locals.len();
            self.encoder.frame(new_offset, self.new_locals, self.new_stack)
        } else {
            self.encoder.same_locals(new_offset, self.new_stack)
        };
        // By way of nodes there are those of the template, too.
        if in_order && self.types <= MOST_TYPES / 2 { Ok(words) } else { Err(Bailout) }
    }

    /// Writes a frame with other locals than the target's.
    pub(super) fn add(
        &mut self,
        new_offset: u32,
        locals: &[VerificationType],
        stack: &[VerificationType],
    ) -> Result<(), Bailout> {
        if self.encoder.frame(new_offset, locals, stack) { Ok(()) } else { Err(Bailout) }
    }

    /// The content of the merged method's `StackMapTable`; `None` if it has no frame.
    pub(super) fn finish(self) -> Option<&'m [u8]> {
        (self.encoder.count() > 0).then(|| self.encoder.finish())
    }
}
