//! Stack map frames of the merged method, without type inference: nothing is loaded and no common super type computed.
//!
//! * A frame of the target is filled up with tops to the target's `max_locals` and extended by the template's live locals.
//! * A frame of the prolog begins with the method's first frame, one of the epilog with tops only; both are followed by
//!   the merge's own locals and the template's.
//! * The epilog's entry holds only the merge's own locals and the template's live ones.

use classfile::descriptor::Kind;
use classfile::stack_map::{FrameDecoder, FrameEncoder, VerificationType, primitive};
use classfile::{ByteReader, Error, ErrorKind, ModifiedUtf8};

use super::frame_types::{
    MOST_TYPES, MadeObject, append_extended, append_live_locals, append_template_types, fill_up, move_made_objects,
    verification_type,
};
use super::renumber::Renumbering;
use super::slots::SlotPlan;
use crate::weave::body::node::{NodeList, Position};
use crate::weave::refusal::Refusal;
use crate::weave::template::symbol::SymbolSink;
use crate::weave::template::{Template, TemplateFrame};

/// Types that a frame names are not in the arena.
const NO_TYPES: Refusal = Refusal::SelfCheck("frame without its types");

#[derive(Clone, Copy, Debug)]
struct Entry<P> {
    place: P,
    locals: (u32, u32),
    stack: (u32, u32),
}

/// Frames with their types in one arena.
#[derive(Debug)]
struct Frames<P> {
    entries: Vec<Entry<P>>,
    types: Vec<VerificationType>,
}

impl<P> Default for Frames<P> {
    fn default() -> Frames<P> {
        Frames { entries: Vec::new(), types: Vec::new() }
    }
}

impl<P> Frames<P> {
    fn clear(&mut self) {
        self.entries.clear();
        self.types.clear();
    }

    fn slice(&self, range: (u32, u32)) -> Result<&[VerificationType], Refusal> {
        self.types.get(range.0 as usize..range.1 as usize).ok_or(NO_TYPES)
    }

    /// Returns the types that were appended since `mark`.
    fn since(&self, mark: u32) -> Result<&[VerificationType], Refusal> {
        self.types.get(mark as usize..).ok_or(NO_TYPES)
    }

    fn push(&mut self, place: P, locals: u32, stack: u32) {
        let end = self.types.len() as u32;
        self.entries.push(Entry { place, locals: (locals, stack), stack: (stack, end) });
    }

    /// Appends types and says where they stand.
    fn append(&mut self, types: &[VerificationType]) -> (u32, u32) {
        let start = self.mark();
        self.types.extend_from_slice(types);
        (start, self.mark())
    }

    fn mark(&self) -> u32 {
        self.types.len() as u32
    }

    /// Fails if the frames take too much memory.
    fn check_size(&self) -> Result<(), Refusal> {
        if self.types.len() > MOST_TYPES { Err(Refusal::FramesTooLarge) } else { Ok(()) }
    }
}

/// A frame of the target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TargetFrame<'f> {
    /// Original offset.
    pub(crate) offset: u32,
    pub(crate) locals: &'f [VerificationType],
    pub(crate) stack: &'f [VerificationType],
}

/// The target's own frames, expanded, by original offset.
#[derive(Debug, Default)]
pub(crate) struct TargetFrames {
    frames: Frames<u32>,
    /// Original offset and words on the stack.
    pub(crate) depths: Vec<(u32, u16)>,
    /// The frame that the descriptor implies.
    pub(crate) implied: Vec<VerificationType>,
    /// False if nothing depended on it, so that it was not worked out.
    pub(crate) implied_known: bool,
    locals: Vec<VerificationType>,
    stack: Vec<VerificationType>,
}

impl TargetFrames {
    pub(crate) fn clear(&mut self) {
        self.frames.clear();
        self.depths.clear();
        self.implied.clear();
        self.implied_known = false;
    }

    /// The frame that the descriptor implies, if it was worked out.
    pub(crate) fn implied(&self) -> Option<&[VerificationType]> {
        self.implied_known.then_some(self.implied.as_slice())
    }

    /// Decodes a `StackMapTable`; `implied` must be set.
    pub(crate) fn decode(&mut self, table: ByteReader<'_>) -> Result<(), Refusal> {
        self.locals.clear();
        self.locals.extend_from_slice(&self.implied);
        let mut decoder = FrameDecoder::new(table, &mut self.locals, &mut self.stack)?;
        while let Some(offset) = decoder.advance()? {
            let known = self.frames.entries.last().filter(|_| !decoder.locals_changed()).map(|last| last.locals);
            let locals = known.unwrap_or_else(|| self.frames.append(decoder.locals()));
            let stack = self.frames.append(decoder.stack());
            self.frames.entries.push(Entry { place: offset, locals, stack });
            let words: usize = decoder.stack().iter().map(|entry| entry.slots()).sum();
            let words = u16::try_from(words).map_err(|_| too_deep(offset))?;
            self.depths.push((offset, words));
            self.frames.check_size()?;
        }
        Ok(())
    }

    /// Returns each frame.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<TargetFrame<'_>, Refusal>> {
        let frames = &self.frames;
        frames.entries.iter().map(|entry| {
            Ok(TargetFrame {
                offset: entry.place,
                locals: frames.slice(entry.locals)?,
                stack: frames.slice(entry.stack)?,
            })
        })
    }

    fn has_first(&self) -> bool {
        self.frames.entries.first().is_some_and(|entry| entry.place == 0)
    }
}

/// More words on the stack of a frame than any `max_stack` allows: no JVM takes it.
fn too_deep(offset: u32) -> Error {
    Error::new(ErrorKind::BadFrame, offset as usize, "StackMapTable")
}

/// Where the pieces of the merged method begin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FramePlaces<'p> {
    /// Position of each operation of the template.
    pub(crate) operations: &'p [Position],
    /// Where the epilog begins.
    pub(crate) epilog: Position,
    /// True if nothing is left of the sentinel, so that its place is where the target begins.
    pub(crate) sentinel_is_target: bool,
    /// True if only jumps lead to the epilog, or nothing does, so that it needs a frame.
    pub(crate) epilog_needs_frame: bool,
}

/// Collects the frames of the merged method and writes them.
#[derive(Debug, Default)]
pub(crate) struct FrameMerger {
    frames: Frames<Position>,
    order: Vec<(u32, u32)>,
    encoder: FrameEncoder,
    buffer: Vec<VerificationType>,
    stack_buffer: Vec<VerificationType>,
}

/// What the frames depend on.
pub(crate) struct FrameContext<'c, 's, 'a> {
    pub(crate) template: &'c Template,
    pub(crate) slots: &'c SlotPlan<'a>,
    pub(crate) places: FramePlaces<'c>,
    pub(crate) sink: &'c mut SymbolSink<'s, 'a>,
}

impl FrameMerger {
    /// Collects all frames, in code order.
    pub(crate) fn collect(
        &mut self,
        target: &TargetFrames,
        list: &NodeList,
        context: &mut FrameContext<'_, '_, '_>,
    ) -> Result<(), Refusal> {
        self.frames.clear();
        let template = context.template;
        let (prolog, epilog): (Vec<_>, Vec<_>) =
            template.frames.iter().partition(|frame| frame.operation <= template.sentinel);
        for frame in prolog {
            let at_target = frame.operation == template.sentinel;
            if !(at_target && target.has_first() && context.places.sentinel_is_target) {
                self.template_frame(frame, &target.implied, context)?;
            }
        }
        self.target_frames(target, list, context)?;
        if context.places.epilog_needs_frame {
            self.epilog_entry(context)?;
        }
        for frame in epilog {
            self.template_frame(frame, &[], context)?;
        }
        Ok(())
    }

    /// Adds a frame of the template, in which the target's locals begin with the types that `implied` gives.
    fn template_frame(
        &mut self,
        frame: &TemplateFrame,
        implied: &[VerificationType],
        context: &mut FrameContext<'_, '_, '_>,
    ) -> Result<(), Refusal> {
        let template = context.template;
        let operation = template.operations.get(frame.operation);
        // Code that only the normal way after the target reaches has the result; a handler has not, nor has the prolog.
        let has_result = frame.operation > template.sentinel
            && operation.is_some_and(|operation| operation.normal && !operation.exceptional);
        let locals = self.frames.mark();
        append_extended(implied, context.slots.target, &[], &mut self.frames.types)?;
        self.own_locals(has_result, context)?;
        append_template_types(&frame.locals, template, context.sink, &mut self.frames.types)?;
        let stack = self.frames.mark();
        append_template_types(&frame.stack, template, context.sink, &mut self.frames.types)?;
        let place = position(context.places.operations, frame.operation)?;
        self.frames.push(place, locals, stack);
        Ok(())
    }

    fn target_frames(
        &mut self,
        target: &TargetFrames,
        list: &NodeList,
        context: &mut FrameContext<'_, '_, '_>,
    ) -> Result<(), Refusal> {
        // The entries after the target's own locals are the same in all of its frames.
        let mut added = std::mem::take(&mut self.buffer);
        added.clear();
        let mark = self.frames.mark();
        self.own_locals(false, context)?;
        append_live_locals(context.template, context.sink, &mut self.frames.types)?;
        let renumbering = context.slots.renumbering;
        if renumbering.by > 0 {
            fill_up(&mut self.frames.types, mark as usize, renumbering.by)?;
        }
        added.extend_from_slice(self.frames.since(mark)?);
        self.frames.types.truncate(mark as usize);
        let mut last = None;
        let mut near = 0;
        for entry in &target.frames.entries {
            let locals = match last {
                Some((of_target, merged)) if of_target == entry.locals => merged,
                _ => self.extended(target.frames.slice(entry.locals)?, &added, context.slots)?,
            };
            last = Some((entry.locals, locals));
            let stack = self.frames.append(target.frames.slice(entry.stack)?);
            let place =
                list.position_near(entry.place, &mut near).ok_or(Refusal::SelfCheck("frame outside the code"))?;
            self.frames.entries.push(Entry { place, locals, stack });
            self.frames.check_size()?;
        }
        self.buffer = added;
        Ok(())
    }

    /// Appends the target's locals, with the added ones after them or, if some are renumbered, among them.
    fn extended(
        &mut self,
        of_target: &[VerificationType],
        added: &[VerificationType],
        slots: &SlotPlan<'_>,
    ) -> Result<(u32, u32), Refusal> {
        let start = self.frames.mark();
        let (kept, moved) = split_at_slot(of_target, slots.renumbering);
        append_extended(kept, slots.target, added, &mut self.frames.types)?;
        self.frames.types.extend_from_slice(moved);
        Ok((start, self.frames.mark()))
    }

    fn epilog_entry(&mut self, context: &mut FrameContext<'_, '_, '_>) -> Result<(), Refusal> {
        let locals = self.frames.mark();
        append_extended(&[], context.slots.target, &[], &mut self.frames.types)?;
        self.own_locals(true, context)?;
        append_live_locals(context.template, context.sink, &mut self.frames.types)?;
        let stack = self.frames.mark();
        self.frames.push(context.places.epilog, locals, stack);
        Ok(())
    }

    /// The locals of the merge itself: result, thrown, boxed result, copies.
    fn own_locals(&mut self, has_result: bool, context: &mut FrameContext<'_, '_, '_>) -> Result<(), Refusal> {
        let slots = context.slots;
        if let Some((_, field_type)) = slots.result {
            if has_result {
                let entry = verification_type(field_type, context.sink)?;
                self.frames.types.push(entry);
            } else {
                let tops = usize::from(field_type.kind().words());
                self.frames.types.extend(std::iter::repeat_n(VerificationType::Top, tops));
            }
        }
        if slots.thrown.is_some() {
            self.object(b"java/lang/Throwable", context)?;
        }
        for _copy in [slots.boxed_result, slots.receiver_copy].into_iter().flatten() {
            self.object(b"java/lang/Object", context)?;
        }
        for argument in slots.arguments.iter().filter(|argument| argument.copy.is_some()) {
            match argument.field_type.kind() {
                Kind::Reference => self.object(b"java/lang/Object", context)?,
                _ => self.frames.types.push(primitive(argument.field_type)),
            }
        }
        if slots.all_arguments_copy.is_some() {
            self.object(b"[Ljava/lang/Object;", context)?;
        }
        Ok(())
    }

    fn object(&mut self, class: &[u8], context: &mut FrameContext<'_, '_, '_>) -> Result<(), Refusal> {
        let class = context.sink.writer.class(context.sink.pool, ModifiedUtf8(class))?;
        self.frames.types.push(VerificationType::Object(class));
        Ok(())
    }

    /// Encodes the collected frames, after layout: the content of the `StackMapTable`, or nothing if there is no frame.
    pub(crate) fn encode(
        &mut self,
        implied: Option<&[VerificationType]>,
        list: &NodeList,
        operations: &[Position],
    ) -> Result<Option<&[u8]>, Refusal> {
        self.order.clear();
        for (index, entry) in self.frames.entries.iter().enumerate() {
            self.order.push((list.offset_of(entry.place)?, index as u32));
        }
        // A jump to an island has the frame that its target expects: of several frames in one place the last one is used.
        for island in &list.islands {
            let target = list.offset_of(island.target)?;
            let frame = self.order.iter().rfind(|(offset, _)| *offset == target);
            let (_, index) = *frame.ok_or(Refusal::SelfCheck("jump target without a frame"))?;
            self.order.push((island.offset, index));
        }
        self.order.sort_by_key(|(offset, _)| *offset);
        self.encoder.begin(implied);
        let new_place = |object: MadeObject| {
            list.offset_of(match object {
                MadeObject::OfTarget(original) => {
                    list.instruction_at(original).ok_or(Refusal::SelfCheck("new object outside the code"))?
                }
                MadeObject::OfTemplate(operation) => position(operations, operation)?,
            })
        };
        let mut last = None;
        for (at, &(offset, index)) in self.order.iter().enumerate() {
            // A target's last return may leave no bytes: then the epilog's entry, which expects less, is used for both.
            if self.order.get(at + 1).is_some_and(|next| next.0 == offset) {
                continue;
            }
            let Some(entry) = self.frames.entries.get(index as usize) else {
                return Err(Refusal::SelfCheck("frame without an entry"));
            };
            self.stack_buffer.clear();
            self.stack_buffer.extend_from_slice(self.frames.slice(entry.stack)?);
            move_made_objects(&mut self.stack_buffer, new_place)?;
            let in_order = if last == Some(entry.locals) {
                self.encoder.same_locals(offset, &self.stack_buffer)
            } else {
                last = Some(entry.locals);
                self.buffer.clear();
                self.buffer.extend_from_slice(self.frames.slice(entry.locals)?);
                move_made_objects(&mut self.buffer, new_place)?;
                self.encoder.frame(offset, &self.buffer, &self.stack_buffer)
            };
            if !in_order {
                return Err(Refusal::SelfCheck("frames out of order"));
            }
        }
        Ok((self.encoder.count() > 0).then(|| self.encoder.finish()))
    }
}

/// The locals of a frame that keep their slots, and those that move.
fn split_at_slot(locals: &[VerificationType], renumbering: Renumbering) -> (&[VerificationType], &[VerificationType]) {
    if renumbering.from == Renumbering::NONE.from {
        return (locals, &[]);
    }
    let mut slots = 0;
    let kept = locals.iter().take_while(|entry| {
        slots += entry.slots();
        slots <= usize::from(renumbering.from)
    });
    locals.split_at(kept.count())
}

/// Returns where an operation of the template is.
fn position(operations: &[Position], operation: usize) -> Result<Position, Refusal> {
    operations.get(operation).copied().ok_or(Refusal::SelfCheck("frame outside the template"))
}
