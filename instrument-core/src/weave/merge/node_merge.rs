//! The merge itself, step by step (requirements S0.44 to S0.54).

pub(crate) mod empty_merge;
mod rows;

use std::collections::BTreeMap;
use std::ops::Range;

use classfile::stack_map::{VerificationType, implied_locals};
use classfile::{ByteReader, ClassFile, Error, ErrorKind, ExceptionRow, Member, ModifiedUtf8, opcode};
use rows::LaidOut;
use smallvec::SmallVec;

use super::call_sites::{SitePlan, SiteWriter};
use super::constructor;
use super::emit::{Emitter, TargetMethod};
use super::frames::{FrameContext, FrameMerger, FramePlaces, TargetFrames};
use super::renumber;
use super::returns::{self, Ending};
use super::slots::SlotPlan;
use crate::weave::body::input::{BodyInput, Table, TableKind};
use crate::weave::body::layout;
use crate::weave::body::lift::{Lifted, Lifter};
use crate::weave::body::node::{NodeId, NodeKind, NodeList, Position, Source};
use crate::weave::body::operands::{self, Operands};
use crate::weave::body::stack_depth::StackEffects;
use crate::weave::body::super_call::Stretches;
use crate::weave::call_sites::{CallSite, RefusedSite};
use crate::weave::captured::CapturedValues;
use crate::weave::offset_map::OffsetMap;
use crate::weave::options::{EngineOptions, SentinelForm, SlotScheme};
use crate::weave::refusal::Refusal;
use crate::weave::template::Template;
use crate::weave::template::symbol::SymbolSink;

/// HotSpot compiles no method with more bytes than this (`-XX:-DontCompileHugeMethods` lifts it).
pub(crate) const HUGE_METHOD: usize = 8_000;

/// Bytes of the call that marks the target's place in a template.
const SENTINEL_LENGTH: usize = 3;

/// Memory that is used again from method to method.
#[derive(Debug, Default)]
pub(crate) struct MergeMemory {
    list: NodeList,
    lifted: Lifted,
    target_frames: TargetFrames,
    merger: FrameMerger,
    positions: Vec<Position>,
    handler_offsets: Vec<u32>,
    /// New offsets by original ones, see [`super::places`].
    places: Vec<u32>,
    sites: SitePlan,
    pub(crate) effects: StackEffects,
    /// The JVM verifies the class at hand by type inference, so that no method of it gets frames: below version 50, and in
    /// version 50 where the frames of one method are wrong or missing.
    pub(crate) is_inferred: bool,
    /// Bodies that are not needed any more, for their memory.
    pub(crate) spare: Vec<MergedBody>,
    pub(crate) options: EngineOptions,
}

impl MergeMemory {
    /// The outer merge's offset map speaks of the inner one's output: go through both.
    pub(crate) fn join(&mut self, inner: Option<MergedBody>, mut outer: MergedBody) -> MergedBody {
        if let Some(inner) = inner {
            outer.passes = outer.passes.max(inner.passes);
            outer.refused_sites = inner.refused_sites.clone();
            outer.offset_map = self.recycle(inner).then(&outer.offset_map);
        }
        outer
    }

    /// Keeps the memory of a body that has been written; gives its offset map.
    pub(crate) fn recycle(&mut self, mut body: MergedBody) -> OffsetMap {
        let map = std::mem::take(&mut body.offset_map);
        self.spare.push(body);
        map
    }
}

/// A merged body: the parts of its `Code` attribute.
#[derive(Debug, Default)]
pub(crate) struct MergedBody {
    pub(crate) max_stack: u16,
    pub(crate) max_locals: u16,
    /// False for code that the JVM verifies without frames, or not at all.
    pub(crate) has_frames: bool,
    pub(crate) code: Vec<u8>,
    pub(crate) rows: Vec<ExceptionRow>,
    pub(crate) tables: Vec<MergedTable>,
    /// Contents of the tables, one after the other.
    pub(crate) table_bytes: Vec<u8>,
    pub(crate) passes: u32,
    pub(crate) offset_map: OffsetMap,
    pub(crate) refused_sites: Vec<RefusedSite>,
}

#[derive(Clone, Debug)]
pub(crate) struct MergedTable {
    pub(crate) kind: TableKind,
    pub(crate) name_index: u16,
    /// Range of its content in [`MergedBody::table_bytes`].
    content: Range<usize>,
}

impl MergedBody {
    /// A body without any template.
    pub(crate) fn unchanged(body: &BodyInput<'_>) -> MergedBody {
        let mut merged = MergedBody {
            max_stack: body.max_stack,
            max_locals: body.max_locals,
            code: body.bytecode.to_vec(),
            rows: body.rows.to_vec(),
            has_frames: !body.lacks_frames(),
            passes: 1,
            ..MergedBody::default()
        };
        for table in &body.tables {
            let start = merged.table_bytes.len();
            merged.table_bytes.extend_from_slice(table.content);
            merged.add_table(table.kind, table.name_index, start);
        }
        merged
    }

    /// The body as input of the next merge.
    pub(crate) fn as_input(&self) -> Result<BodyInput<'_>, Refusal> {
        let table = |merged: &MergedTable| {
            let content = self.content(merged)?;
            Ok(Table { kind: merged.kind, name_index: merged.name_index, content, offset: 0 })
        };
        Ok(BodyInput {
            max_stack: self.max_stack,
            max_locals: self.max_locals,
            bytecode: &self.code,
            rows: SmallVec::from_slice(&self.rows),
            tables: self.tables.iter().map(table).collect::<Result<_, Refusal>>()?,
        })
    }

    /// The content of one of its tables.
    pub(crate) fn content(&self, table: &MergedTable) -> Result<&[u8], Refusal> {
        self.table_bytes.get(table.content.clone()).ok_or(Refusal::SelfCheck("table outside the merged body"))
    }

    /// Notes a table whose content was appended to the table bytes from `start` on.
    fn add_table(&mut self, kind: TableKind, name_index: u16, start: usize) {
        self.tables.push(MergedTable { kind, name_index, content: start..self.table_bytes.len() });
    }

    /// Empties it, keeping the memory.
    fn clear(&mut self) {
        self.code.clear();
        self.rows.clear();
        self.tables.clear();
        self.table_bytes.clear();
        self.offset_map.clear();
    }
}

/// One merge.
pub(crate) struct NodeMerge<'m, 'b, 's, 'a> {
    pub(crate) class: &'m ClassFile<'a>,
    pub(crate) method: &'m Member<'a>,
    pub(crate) target: &'m TargetMethod<'a>,
    pub(crate) template: &'m Template,
    /// The values that the rule chooses; `None` unless the template asks for them.
    pub(crate) captured: Option<&'m CapturedValues>,
    pub(crate) body: &'m BodyInput<'b>,
    /// Call sites in the body; none unless the template declares a scope.
    pub(crate) sites: &'m [CallSite],
    pub(crate) sink: SymbolSink<'s, 'a>,
    /// Constant that holds the probe's number.
    pub(crate) probe_constant: Option<u16>,
}

impl<'a> NodeMerge<'_, '_, '_, 'a> {
    pub(crate) fn run(mut self, memory: &mut MergeMemory) -> Result<MergedBody, Refusal> {
        if self.template.single_pass.is_some() {
            // As the single pass does, so that both write the same.
            let effects = &mut memory.effects;
            self.sink.place_all(&self.template.symbols, |index, descriptor| effects.note(index, descriptor))?;
        }
        let frames_wanted = self.read_frames(memory)?;
        let first_moved = self.first_moved_slot(memory.options.slots)?;
        memory.list.clear();
        memory.positions.clear();
        memory.positions.resize(self.template.operations.len(), Position::default());

        self.choose_sites(memory, frames_wanted)?;
        self.lift(memory, first_moved)?;
        memory.sites.keep_found(&mut memory.lifted);
        self.reject_lying_frames(memory)?;
        let kind = self.target.descriptor.return_type().map(|result| result.kind());
        let ending = returns::ending(&memory.lifted, &memory.list, self.template.epilog_is_straight, kind);
        if returns::operands_matter(&memory.lifted, kind) {
            let operands = self.operands(&memory.handler_offsets, &memory.target_frames);
            // Where they are unknown, the returns that need them are refused.
            memory.lifted.operands = operands.unwrap_or_default();
        }
        let parts = self.target_slots(first_moved);
        let slots = SlotPlan::new(
            (self.template, self.captured),
            self.method,
            &self.target.descriptor,
            parts,
            ending == Ending::Jumps,
        )?;

        let prolog = memory.list.next_id();
        let (prolog_stack, pending) = self.emit(memory, &slots, Part::Prolog, 0, Vec::new())?;
        let sentinel = self.sentinel(&mut memory.list, memory.options.sentinel);
        let initialised = self.initialised(memory, frames_wanted)?;
        let start = memory.list.push_made(NodeKind::Label);
        let epilog = Position::start_of(start);
        let cast = self.result_cast(&slots, &memory.lifted, frames_wanted)?;
        returns::replace(&memory.lifted, &mut memory.list, &slots, ending, epilog, kind, cast)?;
        renumber::apply(&memory.lifted.locals, self.body.bytecode, slots.renumbering, &mut memory.list)?;
        let sites_stack = self.fill_sites(memory, &slots)?;
        let kept = if let Ending::FallsThroughWithResult { depth } = ending { depth } else { 0 };
        *memory.positions.get_mut(self.template.sentinel).ok_or(Refusal::SelfCheck("template without a sentinel"))? =
            sentinel;
        let (epilog_stack, _) = self.emit(memory, &slots, Part::Epilog, kept, pending)?;
        let end = memory.list.next_id();
        memory.list.order = [prolog.0..start.0, memory.list.target.clone(), start.0..end.0];

        if frames_wanted {
            let places = FramePlaces {
                operations: &memory.positions,
                epilog,
                sentinel_is_target: sentinel == Position::start_of(NodeId(memory.list.target.start)),
                epilog_needs_frame: ending == Ending::Jumps,
            };
            let mut context = FrameContext { template: self.template, slots: &slots, places, sink: &mut self.sink };
            memory.merger.collect(&memory.target_frames, &memory.list, &mut context)?;
        }
        let (length, passes) = layout::assign_offsets(&mut memory.list, memory.options.layout)?;
        self.check_length(length as usize)?;
        let mut merged = memory.spare.pop().unwrap_or_default();
        merged.clear();
        merged.max_stack = self.body.max_stack.max(prolog_stack).max(epilog_stack).max(sites_stack);
        merged.max_locals = slots.max_locals;
        merged.passes = passes;
        merged.has_frames = frames_wanted;
        merged.refused_sites.clone_from(&memory.sites.refused);
        merged.code.reserve(length as usize);
        layout::write(&memory.list, self.body.bytecode, &mut merged.code)?;
        let laid_out = LaidOut { epilog, length, initialised, renumbering: slots.renumbering };
        self.attributes(memory, &laid_out, &mut merged)?;
        if memory.options.offset_maps {
            offset_map(&memory.list, &mut merged.offset_map);
        }
        Ok(merged)
    }

    /// Decodes the target's frames; true if the merged method needs frames.
    fn read_frames(&mut self, memory: &mut MergeMemory) -> Result<bool, Refusal> {
        let frames = &mut memory.target_frames;
        frames.clear();
        if self.parameter_slots() > self.body.max_locals {
            // No JVM takes such a class; a frame could not hold the arguments.
            return Err(Error::new(ErrorKind::BadValue, 0, "max_locals").into());
        }
        let table = self.body.table(TableKind::StackMap);
        if memory.is_inferred || self.body.lacks_frames() {
            return Ok(false);
        }
        let prolog_frames = self.template.frames.iter().any(|frame| frame.operation <= self.template.sentinel);
        if table.is_some() || prolog_frames {
            let receiver = self.receiver_type()?;
            let (pool, writer) = (self.sink.pool, &mut *self.sink.writer);
            let class_index = |name: &[u8]| writer.class(pool, ModifiedUtf8(name));
            implied_locals(receiver, &self.target.descriptor, &mut frames.implied, class_index)?;
            frames.implied_known = true;
        }
        if let Some(table) = table {
            frames.decode(ByteReader::new(table.content, table.offset, "StackMapTable"))?;
            // Behind the target the epilog follows, where such a frame would find an instruction.
            let last = frames.depths.last().map_or(0, |(offset, _)| *offset);
            if last as usize >= self.body.bytecode.len() {
                return Err(Error::new(ErrorKind::BadCodeOffset(last), table.offset, "StackMapTable").into());
            }
        }
        Ok(true)
    }

    /// Slots that the receiver and the arguments fill.
    fn parameter_slots(&self) -> u16 {
        // At most 255 by the descriptor's own limit; beyond it more than any max_locals, so that the body is refused.
        self.target.descriptor.parameter_words().saturating_add(u16::from(!self.target.is_static()))
    }

    fn receiver_type(&mut self) -> Result<Option<VerificationType>, Refusal> {
        if self.target.is_static() {
            return Ok(None);
        }
        if self.target.is_constructor {
            return Ok(Some(VerificationType::UninitializedThis));
        }
        let class = self.sink.writer.class(self.sink.pool, self.target.class_name)?;
        Ok(Some(VerificationType::Object(class)))
    }

    fn lift(&mut self, memory: &mut MergeMemory, apart_from: Option<u16>) -> Result<(), Refusal> {
        memory.handler_offsets.clear();
        memory.handler_offsets.extend(self.body.rows.iter().map(|row| u32::from(row.handler)));
        let mut lifter = Lifter {
            pool: self.sink.pool,
            effects: &mut memory.effects,
            frames: &memory.target_frames.depths,
            handlers: &memory.handler_offsets,
            apart_from,
            sites: &memory.sites.wanted,
            entries: &memory.sites.handlers,
        };
        lifter.lift(self.body.bytecode, &mut memory.list, &mut memory.lifted)?;
        // The template may need more than the target says: then the target would have room that it has not.
        if memory.lifted.deepest > self.body.max_stack {
            return Err(Error::new(ErrorKind::BadValue, 0, "max_stack").into());
        }
        Ok(())
    }

    /// Decides which call sites the body gets.
    fn choose_sites(&self, memory: &mut MergeMemory, has_frames: bool) -> Result<(), Refusal> {
        let initialised = match self.target.is_constructor && !self.sites.is_empty() {
            true => {
                let frames = &memory.target_frames;
                Some(constructor::initialised(self.body.bytecode, self.sink.pool, frames, has_frames)?)
            }
            false => None,
        };
        memory.sites.choose(self.sites, initialised.as_ref(), &self.body.rows);
        Ok(())
    }

    /// Writes the code of the call sites; returns the words that they need on the operand stack.
    fn fill_sites(&mut self, memory: &mut MergeMemory, slots: &SlotPlan<'_>) -> Result<u16, Refusal> {
        let Some(scope) = self.template.scope.filter(|_| !self.sites.is_empty()) else { return Ok(0) };
        let slot = slots.template.checked_add(scope.slot).ok_or(Refusal::TooManyLocals)?;
        let (symbols, sink, effects) = (&self.template.symbols, &mut self.sink, &mut memory.effects);
        let mut writer = SiteWriter { scope, symbols, slot, sink, effects };
        writer.fill(&memory.lifted, self.body.bytecode, &mut memory.list, &mut memory.sites.inserted)
    }

    /// Version 50: the JVM verifies without the frames if they are wrong, so nothing may depend on them unless they are right
    /// about the returns.
    fn reject_lying_frames(&self, memory: &MergeMemory) -> Result<(), Refusal> {
        if memory.is_inferred || self.class.major_version() != 50 || self.body.table(TableKind::StackMap).is_none() {
            return Ok(());
        }
        let found =
            operands::before_returns(self.body.bytecode, self.sink.pool, &memory.handler_offsets, std::iter::empty());
        let found = found.ok_or(Refusal::SelfCheck("frames that cannot be compared with the code"))?;
        for exit in &memory.lifted.returns {
            let operands = found.get(&memory.list.get(exit.node)?.original).map(|operands| operands.depth());
            if operands.is_some_and(|depth| exit.depth.is_none_or(|claimed| usize::from(claimed) != depth)) {
                return Err(Refusal::SelfCheck("frames that lie"));
            }
        }
        Ok(())
    }

    fn operands(&self, handlers: &[u32], frames: &TargetFrames) -> Option<BTreeMap<u32, Operands>> {
        let frames = frames.iter().flatten().map(|frame| (frame.offset, Operands::from(frame.stack)));
        operands::before_returns(self.body.bytecode, self.sink.pool, handlers, frames)
    }

    /// Without frames the verifier infers types, and where returns of different types meet it would load these classes, which the
    /// original never did. A cast to the declared type, which every result has, makes them one type.
    fn result_cast(
        &mut self,
        slots: &SlotPlan<'_>,
        lifted: &Lifted,
        frames_wanted: bool,
    ) -> Result<Option<u16>, Refusal> {
        let class = slots.result.and_then(|(_, field_type)| field_type.class_name());
        match class.filter(|_| !frames_wanted && lifted.returns.len() > 1) {
            Some(class) => Ok(Some(self.sink.writer.class(self.sink.pool, ModifiedUtf8(class))?)),
            None => Ok(None),
        }
    }

    /// Returns the original offsets where the object of a constructor is initialised, which is what the template protects of it;
    /// `None` if all of the target is protected, or nothing.
    fn initialised(&self, memory: &MergeMemory, has_frames: bool) -> Result<Option<Stretches>, Refusal> {
        let protects = self.template.handlers.iter().any(|row| row.covers(self.template.sentinel));
        if !self.target.is_constructor || !protects {
            return Ok(None);
        }
        let frames = &memory.target_frames;
        constructor::initialised(self.body.bytecode, self.sink.pool, frames, has_frames).map(Some)
    }

    fn emit(
        &mut self,
        memory: &mut MergeMemory,
        slots: &SlotPlan<'a>,
        part: Part,
        kept: u16,
        pending: Vec<NodeId>,
    ) -> Result<(u16, Vec<NodeId>), Refusal> {
        let sentinel = self.template.sentinel;
        let mut emitter = Emitter {
            template: self.template,
            captured: self.captured,
            method: self.target,
            slots,
            sink: &mut self.sink,
            list: &mut memory.list,
            positions: &mut memory.positions,
            effects: &mut memory.effects,
            probe_constant: self.probe_constant,
            pending,
            kept,
            max_stack: 0,
        };
        match part {
            Part::Prolog => {
                emitter.preparation()?;
                emitter.operations(0..sentinel)?;
            }
            Part::Epilog => {
                emitter.box_result()?;
                emitter.operations(sentinel + 1..self.template.operations.len())?;
                emitter.resolve_jumps()?;
            }
        }
        Ok((emitter.max_stack, emitter.pending))
    }

    fn check_length(&self, length: usize) -> Result<(), Refusal> {
        let before = self.body.bytecode.len();
        if before <= HUGE_METHOD && length > HUGE_METHOD {
            return Err(Refusal::HugeForJit { before, after: length });
        }
        Ok(())
    }

    /// The first slot of the target that moves, if the template's are to lie among its locals.
    fn first_moved_slot(&self, scheme: SlotScheme) -> Result<Option<u16>, Refusal> {
        match scheme {
            SlotScheme::AfterLocals => Ok(None),
            SlotScheme::AfterParameters => Ok(Some(
                renumber::first_moved_slot(self.body.bytecode, self.parameter_slots()).min(self.body.max_locals),
            )),
            SlotScheme::InFront => Err(Refusal::LocalsInFront),
        }
    }

    /// Returns the number of the target's slots before and after the template's.
    fn target_slots(&self, first_moved: Option<u16>) -> [u16; 2] {
        let all = self.body.max_locals;
        // It is at most `all`.
        let before = first_moved.unwrap_or(all);
        [before, all.saturating_sub(before)]
    }

    /// Returns the place of the sentinel: its `nop` instructions, or else the start of the target.
    fn sentinel(&self, list: &mut NodeList, form: SentinelForm) -> Position {
        match form {
            SentinelForm::Removed => Position::start_of(NodeId(list.target.start)),
            SentinelForm::NoOperations => {
                let place = list.end();
                list.push_bytes(&[opcode::NOP; SENTINEL_LENGTH]);
                place
            }
        }
    }
}

enum Part {
    Prolog,
    Epilog,
}

/// Sets the new place of each stretch of the target; a return is mapped to its replacement.
fn offset_map(list: &NodeList, map: &mut OffsetMap) {
    map.clear();
    for node in list.nodes.iter().filter(|node| node.of_target) {
        let length = match node.kind {
            NodeKind::Straight(Source::Target) => node.length,
            NodeKind::Straight(Source::Synthesized) => 1,
            NodeKind::Conditional { .. } | NodeKind::Goto { .. } | NodeKind::Subroutine { .. } if node.length > 0 => 1,
            NodeKind::Switch { .. } => 1,
            _ => continue,
        };
        map.push(node.original, node.offset, length);
    }
}
