//! Stack map frames of the merged method, without type inference: nothing is loaded and no common super type computed.
//!
//! * A frame of the target is filled up with tops to the target's `max_locals` and extended by the template's live locals.
//! * A frame of the prolog begins with the method's first frame, one of the epilog with tops only; both are followed by
//!   the merge's own locals and the template's.
//! * The epilog's entry holds only the merge's own locals and the template's live ones.

use classfile::descriptor::{FieldType, Kind};
use classfile::stack_map::{FrameDecoder, FrameEncoder, VerificationType, primitive};
use classfile::{ByteReader, Error, ErrorKind, ModifiedUtf8};

use super::renumber::Renumbering;
use super::slots::SlotPlan;
use crate::weave::body::node::{NodeList, Position};
use crate::weave::refusal::Refusal;
use crate::weave::template::symbol::SymbolSink;
use crate::weave::template::{Template, TemplateFrame, TemplateType};

/// Marks an uninitialised type of the template: the rest is the operation's index, not an original offset.
const OF_TEMPLATE: u32 = 1 << 31;

/// Types that a frame names are not in the arena.
const NO_TYPES: Refusal = Refusal::SelfCheck("frame without its types");

/// Types in all frames of a method together, written out, before it is given up: 32 MB. Each frame of a file may say no more than
/// that one local has been added to thousands.
pub(crate) const MOST_TYPES: usize = 1 << 22;

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
        let operation = context.template.operations.get(frame.operation);
        // Code that only the normal way after the target reaches has the result; a handler has not, nor has the prolog.
        let has_result = frame.operation > context.template.sentinel
            && operation.is_some_and(|operation| operation.normal && !operation.exceptional);
        let locals = self.frames.mark();
        self.frames.types.extend_from_slice(implied);
        self.fill_up(locals, context.slots.target)?;
        self.own_locals(has_result, context)?;
        self.template_types(&frame.locals, context)?;
        let stack = self.frames.mark();
        self.template_types(&frame.stack, context)?;
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
        self.live_locals(context)?;
        let renumbering = context.slots.renumbering;
        if renumbering.by > 0 {
            self.fill_up(mark, renumbering.by)?;
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
        self.frames.types.extend_from_slice(kept);
        self.fill_up(start, slots.target)?;
        self.frames.types.extend_from_slice(added);
        self.frames.types.extend_from_slice(moved);
        Ok((start, self.frames.mark()))
    }

    fn epilog_entry(&mut self, context: &mut FrameContext<'_, '_, '_>) -> Result<(), Refusal> {
        let locals = self.frames.mark();
        self.fill_up(locals, context.slots.target)?;
        self.own_locals(true, context)?;
        self.live_locals(context)?;
        let stack = self.frames.mark();
        self.frames.push(context.places.epilog, locals, stack);
        Ok(())
    }

    /// Tops from the end of the locals that began at `locals` up to slot `slots`.
    fn fill_up(&mut self, locals: u32, slots: u16) -> Result<(), Refusal> {
        let used: usize = self.frames.since(locals)?.iter().map(|entry| entry.slots()).sum();
        let missing = usize::from(slots).checked_sub(used).ok_or(Refusal::SelfCheck("frame with too many locals"))?;
        self.frames.types.extend(std::iter::repeat_n(VerificationType::Top, missing));
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

    fn live_locals(&mut self, context: &mut FrameContext<'_, '_, '_>) -> Result<(), Refusal> {
        let template = context.template;
        let mut next = 0;
        for &(slot, local) in &template.live_locals {
            let gap = usize::from(slot.checked_sub(next).ok_or(Refusal::SelfCheck("locals of the template"))?);
            self.frames.types.extend(std::iter::repeat_n(VerificationType::Top, gap));
            self.template_types(&[local], context)?;
            next = slot + if matches!(local, TemplateType::Long | TemplateType::Double) { 2 } else { 1 };
        }
        Ok(())
    }

    fn template_types(
        &mut self,
        types: &[TemplateType],
        context: &mut FrameContext<'_, '_, '_>,
    ) -> Result<(), Refusal> {
        for entry in types {
            let converted = match *entry {
                TemplateType::Top => VerificationType::Top,
                TemplateType::Integer => VerificationType::Integer,
                TemplateType::Float => VerificationType::Float,
                TemplateType::Double => VerificationType::Double,
                TemplateType::Long => VerificationType::Long,
                TemplateType::Null => VerificationType::Null,
                TemplateType::Object(symbol) => {
                    let placed = context.sink.symbol(&context.template.symbols, symbol)?;
                    VerificationType::Object(placed.ok_or(Refusal::SelfCheck("template type"))?.0)
                }
                TemplateType::Uninitialized(operation) => {
                    VerificationType::Uninitialized(OF_TEMPLATE | operation as u32)
                }
            };
            self.frames.types.push(converted);
        }
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
        let mut last = None;
        for (at, &(offset, index)) in self.order.iter().enumerate() {
            // A target's last return may leave no bytes: then the epilog's entry, which expects less, is used for both.
            if self.order.get(at + 1).is_some_and(|next| next.0 == offset) {
                continue;
            }
            let Some(entry) = self.frames.entries.get(index as usize) else {
                return Err(Refusal::SelfCheck("frame without an entry"));
            };
            let (locals, stack) = (self.frames.slice(entry.locals)?, self.frames.slice(entry.stack)?);
            let stack = moved(stack, list, operations, &mut self.stack_buffer)?;
            let in_order = if last == Some(entry.locals) {
                self.encoder.same_locals(offset, stack)
            } else {
                last = Some(entry.locals);
                self.encoder.frame(offset, moved(locals, list, operations, &mut self.buffer)?, stack)
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

/// Uninitialised objects are named by the offset of their `new`, which has moved; without any the types stay where they are.
fn moved<'t>(
    types: &'t [VerificationType],
    list: &NodeList,
    operations: &[Position],
    buffer: &'t mut Vec<VerificationType>,
) -> Result<&'t [VerificationType], Refusal> {
    if !types.iter().any(|entry| matches!(entry, VerificationType::Uninitialized(_))) {
        return Ok(types);
    }
    buffer.clear();
    for &entry in types {
        let place = match entry {
            VerificationType::Uninitialized(of_template) if of_template & OF_TEMPLATE != 0 => {
                position(operations, (of_template & !OF_TEMPLATE) as usize)?
            }
            VerificationType::Uninitialized(original) => {
                list.position_of(original).ok_or(Refusal::SelfCheck("new object outside the code"))?
            }
            other => {
                buffer.push(other);
                continue;
            }
        };
        buffer.push(VerificationType::Uninitialized(list.offset_of(place)?));
    }
    Ok(buffer)
}

/// Returns where an operation of the template is.
fn position(operations: &[Position], operation: usize) -> Result<Position, Refusal> {
    operations.get(operation).copied().ok_or(Refusal::SelfCheck("frame outside the template"))
}

/// The verification type of a field type.
pub(crate) fn verification_type(
    field_type: FieldType<'_>,
    sink: &mut SymbolSink<'_, '_>,
) -> Result<VerificationType, Refusal> {
    Ok(match field_type.class_name() {
        Some(name) => VerificationType::Object(sink.writer.class(sink.pool, ModifiedUtf8(name))?),
        None => primitive(field_type),
    })
}
