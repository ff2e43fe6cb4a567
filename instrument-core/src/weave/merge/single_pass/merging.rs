//! A merge in a single pass, from beginning to end.

use std::ops::Range;

use classfile::descriptor::{FieldType, Kind};
use classfile::stack_map::{VerificationType, implied_locals};
use classfile::{ByteWriter, ClassFile, ExceptionRow, Member, ModifiedUtf8, opcode};

use super::frame_copy::FrameCopy;
use super::parts::Parts;
use super::resolved_template::{MethodOperands, Piece, ResolvedTemplate};
use super::walk::{Exit, Walk, WalkMemory, Walked, write_jumps};
use super::{Bailout, GaveUp, SinglePassMemory, tables};
use crate::weave::body::definition_checks::check_row;
use crate::weave::body::stack_depth::StackEffects;
use crate::weave::merge::emit::{TargetMethod, load_opcode, local_bytes, return_opcode, store_opcode};
use crate::weave::merge::frame_types::{append_extended, verification_type};
use crate::weave::merge::handlers::{self, Protection};
use crate::weave::merge::node_merge::HUGE_METHOD;
use crate::weave::merge::places::Places;
use crate::weave::template::symbol::SymbolSink;
use crate::weave::template::{SinglePassForm, Template, TemplateId};

/// One merge.
pub(crate) struct SinglePassMerge<'m, 's, 'a> {
    pub(crate) class: &'m ClassFile<'a>,
    pub(crate) method: &'m Member<'a>,
    pub(crate) target: &'m TargetMethod<'a>,
    pub(crate) id: TemplateId,
    pub(crate) template: &'m Template,
    pub(crate) form: SinglePassForm,
    pub(crate) sink: SymbolSink<'s, 'a>,
    pub(crate) effects: &'m mut StackEffects,
    /// Constant that holds the probe's number.
    pub(crate) probe_constant: Option<u16>,
    pub(crate) out: &'m mut ByteWriter,
}

/// Bytes of code before and after.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths {
    pub(crate) before: u32,
    pub(crate) after: u32,
}

/// Where the pieces of the merged code begin, counted from its first byte.
#[derive(Clone, Copy, Debug)]
struct CodePlaces {
    /// The first byte itself, counted from the beginning of the output.
    start: usize,
    epilog: usize,
    length: usize,
    walked: Walked,
}

/// How the target's result is passed to the epilog, and the slots of the merge's and the template's locals.
#[derive(Clone, Copy, Debug)]
struct Ending<'a> {
    result: Option<FieldType<'a>>,
    /// There is one return at the very end, and the result stays on the stack.
    keeps_result: bool,
    result_slot: Option<u16>,
    /// Words of a result on the stack.
    kept: u16,
    /// Words of a result in a slot.
    stored: u16,
    template_slot: u16,
    all_slots: u16,
}

impl<'a> Ending<'a> {
    fn new(
        result: Option<FieldType<'a>>,
        keeps_result: bool,
        max_locals: u16,
        template: &Template,
    ) -> Result<Ending<'a>, Bailout> {
        let words = result.map_or(0, |result| result.kind().words());
        let (kept, stored) = if keeps_result { (words, 0) } else { (0, words) };
        let template_slot = max_locals.checked_add(stored).ok_or(Bailout)?;
        let all_slots = template_slot.checked_add(template.max_locals).ok_or(Bailout)?;
        let result_slot = (stored > 0).then_some(max_locals);
        Ok(Ending { result, keeps_result, result_slot, kept, stored, template_slot, all_slots })
    }

    /// The instruction that stores or loads the result, if it is stored.
    fn access(&self, opcode: impl Fn(Kind) -> u8) -> ([u8; 4], usize) {
        match (self.result_slot, self.result) {
            (Some(slot), Some(result)) => local_bytes(opcode(result.kind()), slot),
            _ => ([0; 4], 0),
        }
    }
}

impl<'a> SinglePassMerge<'_, '_, 'a> {
    /// Appends the merged method from its `attributes_count` on.
    pub(crate) fn run(mut self, memory: &mut SinglePassMemory) -> Result<Lengths, Bailout> {
        let parts = Parts::read(self.class, self.method, &mut memory.names)?;
        let arguments = self.target.descriptor.parameter_words().checked_add(u16::from(!self.target.is_static()));
        // Code without frames jumps nowhere and handles nothing.
        if arguments.is_none_or(|slots| slots > parts.max_locals) || parts.frames.is_none() && !parts.rows.is_empty() {
            return Err(Bailout);
        }
        self.sink.place_all(&self.template.symbols, |index, descriptor| self.effects.note(index, descriptor))?;
        memory.form.prepare(self.id, self.template, &mut self.sink)?;
        memory.implied.clear();
        if parts.frames.is_some() {
            self.implied_locals(&mut memory.implied, &mut memory.receiver)?;
        }
        let start = self.out.len();
        // A result stays on the stack if there is one return, at the end. A byte that looks like another one may be no opcode.
        let keeps_result = match parts.bytecode.split_last() {
            Some((last @ opcode::IRETURN..=opcode::ARETURN, before)) => !before.contains(last),
            _ => false,
        };
        match self.attempt(&parts, keeps_result, memory) {
            Err(GaveUp::OtherEnding) => {
                self.out.truncate(start);
                self.attempt(&parts, !keeps_result, memory).map_err(|_| Bailout)
            }
            done => done.map_err(|_| Bailout),
        }
    }

    fn attempt(
        &mut self,
        parts: &Parts<'a>,
        keeps_result: bool,
        memory: &mut SinglePassMemory,
    ) -> Result<Lengths, GaveUp> {
        let result = self.target.descriptor.return_type();
        let ending = Ending::new(result, keeps_result, parts.max_locals, self.template)?;
        self.out.bytes(parts.before);
        let attribute = self.out.len();
        self.out.u4(0);
        self.out.u2(parts.max_stack.max(self.form.stack).max(self.form.normal_stack + ending.kept).max(ending.stored));
        self.out.u2(ending.all_slots);
        self.out.u4(0);

        let SinglePassMemory { walk, frames, implied, added, locals, operations, form, frames_name, .. } = memory;
        added.clear();
        added.resize(usize::from(ending.stored), VerificationType::Top);
        added.extend_from_slice(&form.live);
        let content = parts.frames.map(|table| table.content);
        let mut copy = FrameCopy::new(content, implied, (parts.max_locals, self.sink.pool.count()), added, frames)?;
        let code = self.code(parts, &ending, form, walk, operations, &mut copy)?;
        let places = Places { entries: &walk.places, epilog: code.epilog as u16, has_frames: true };
        write_jumps(walk, &places, code.start, self.out)?;
        self.epilog_frames(parts.max_locals, &ending, &code, (form, operations), locals, &mut copy)?;
        self.rows(parts.rows, &walk.initialised, &places, &code, (form, operations))?;
        self.tables(parts, &places, copy, frames_name)?;
        self.out.patch_u4(attribute, (self.out.len() - attribute - 4) as u32);
        self.out.bytes(parts.after);
        Ok(Lengths { before: parts.bytecode.len() as u32, after: code.length as u32 })
    }

    /// Writes prolog, target and epilog.
    fn code(
        &mut self,
        parts: &Parts<'a>,
        ending: &Ending<'_>,
        form: &ResolvedTemplate,
        walk: &mut WalkMemory,
        operations: &mut Vec<u32>,
        frames: &mut FrameCopy<'_, '_>,
    ) -> Result<CodePlaces, GaveUp> {
        let start = self.out.len();
        let return_opcode = ending.result.map_or(opcode::RETURN, |result| return_opcode(result.kind()));
        let method = MethodOperands {
            template_slot: ending.template_slot,
            probe_constant: self.probe_constant,
            load_result: ending.access(load_opcode),
            return_opcode,
        };
        operations.clear();
        operations.resize(self.template.operations.len(), 0);
        self.pieces(form.prolog(), &method, start, operations)?;
        let prolog = self.out.len() - start;
        let (store, store_length) = ending.access(store_opcode);
        let target = Walk {
            code: parts.bytecode,
            window: parts.window,
            pool: self.sink.pool,
            effects: self.effects,
            max_stack: parts.max_stack,
            max_locals: parts.max_locals,
            exit: Exit {
                opcode: return_opcode,
                has_result: ending.result.is_some(),
                keeps_result: ending.keeps_result,
                store: store.get(..store_length).unwrap_or_default(),
            },
            is_constructor: self.target.is_constructor,
            frames,
            memory: walk,
            out: self.out,
        };
        let walked = target.run(prolog)?;
        let epilog = self.out.len() - start;
        self.pieces(form.epilog(), &method, start, operations)?;
        if let Some(place) = operations.get_mut(self.template.sentinel) {
            *place = prolog as u32;
        }
        let length = self.out.len() - start;
        let grows_huge = parts.bytecode.len() <= HUGE_METHOD && length > HUGE_METHOD;
        if length > i16::MAX as usize || grows_huge {
            return Err(GaveUp::Bailout);
        }
        self.out.patch_u4(start - 4, length as u32);
        Ok(CodePlaces { start, epilog, length, walked })
    }

    /// Appends pieces of the template and notes where each operation begins.
    fn pieces(
        &mut self,
        pieces: &[Piece],
        method: &MethodOperands,
        start: usize,
        operations: &mut [u32],
    ) -> Result<(), Bailout> {
        for piece in pieces {
            let at = (self.out.len() - start) as u32;
            if let Some(place) = operations.get_mut(usize::from(piece.operation)).filter(|place| **place == 0) {
                *place = at;
            }
            piece.write(method, self.out)?;
        }
        Ok(())
    }

    fn implied_locals(
        &mut self,
        implied: &mut Vec<VerificationType>,
        known_class: &mut Option<u16>,
    ) -> Result<(), Bailout> {
        let (pool, writer) = (self.sink.pool, &mut *self.sink.writer);
        let receiver = if self.target.is_constructor {
            Some(VerificationType::UninitializedThis)
        } else if self.target.is_static() {
            None
        } else {
            let class = match *known_class {
                Some(class) => class,
                None => writer.class(pool, self.target.class_name)?,
            };
            *known_class = Some(class);
            Some(VerificationType::Object(class))
        };
        let class_index = |name: &[u8]| writer.class(pool, ModifiedUtf8(name));
        Ok(implied_locals(receiver, &self.target.descriptor, implied, class_index)?)
    }

    /// Writes the frames after the target: the one that returns jump to, and those of handlers.
    fn epilog_frames(
        &mut self,
        max_locals: u16,
        ending: &Ending<'_>,
        code: &CodePlaces,
        (form, operations): (&ResolvedTemplate, &[u32]),
        locals: &mut Vec<VerificationType>,
        frames: &mut FrameCopy<'_, '_>,
    ) -> Result<(), Bailout> {
        if !code.walked.has_single_exit {
            locals.clear();
            append_extended(&[], max_locals, &[], locals)?;
            if let Some(result) = ending.result {
                locals.push(verification_type(result, &mut self.sink)?);
            }
            locals.extend_from_slice(&form.live);
            frames.add(code.epilog as u32, locals, &[])?;
        }
        for frame in &form.frames {
            locals.clear();
            append_extended(&[], max_locals + ending.stored, &frame.locals, locals)?;
            let place = operations.get(frame.operation).copied().ok_or(Bailout)?;
            frames.add(place, locals, &frame.stack)?;
        }
        Ok(())
    }

    /// The exception table: the target's rows first, so that inner handlers win.
    fn rows(
        &mut self,
        rows: &[[u8; 8]],
        initialised: &[Range<u32>],
        places: &Places<'_>,
        code: &CodePlaces,
        (form, operations): (&ResolvedTemplate, &[u32]),
    ) -> Result<(), Bailout> {
        let count_position = self.out.len();
        self.out.u2(0);
        let mut count = 0;
        for row in rows {
            let row = ExceptionRow::of(*row);
            check_row(&row, places.entries.len(), self.sink.pool)?;
            let (covered, handler) = handlers::moved(&row, places)?;
            count += self.row(covered, handler, row.catch_type);
        }
        let at = |operation: usize| match operations.get(operation) {
            Some(place) => Ok(*place),
            None if operation == self.template.operations.len() => Ok(code.length as u32),
            None => Err(Bailout),
        };
        let initialised = self.target.is_constructor.then_some(initialised);
        if initialised.is_some_and(<[_]>::is_empty) {
            return Err(Bailout);
        }
        let protection = Protection::new(initialised, places)?;
        for (row, &catch_type) in self.template.handlers.iter().zip(&form.catch_types) {
            let handler = at(row.handler)?;
            for covered in protection.covered(row, self.template.sentinel, at)? {
                count += self.row(covered, handler, catch_type);
            }
        }
        let count = u16::try_from(count).map_err(|_| Bailout)?;
        self.out.patch_u2(count_position, count);
        Ok(())
    }

    /// Appends a row, unless it covers nothing; returns how many were appended.
    #[inline]
    fn row(&mut self, covered: Range<u32>, handler: u32, catch_type: u16) -> u32 {
        if covered.start >= covered.end {
            return 0;
        }
        // The single pass writes at most 32,767 bytes of code.
        let [start, end, handler] = [covered.start, covered.end, handler].map(|place| place as u16);
        self.out.bytes(&ExceptionRow { start, end, handler, catch_type }.bytes());
        1
    }

    fn frames_name(&mut self, known: &mut Option<u16>) -> Result<u16, Bailout> {
        let name = match *known {
            Some(name) => name,
            None => self.sink.writer.utf8(self.sink.pool, ModifiedUtf8(b"StackMapTable"))?,
        };
        *known = Some(name);
        Ok(name)
    }

    fn tables(
        &mut self,
        parts: &Parts<'a>,
        places: &Places<'_>,
        frames: FrameCopy<'_, '_>,
        frames_name: &mut Option<u16>,
    ) -> Result<(), Bailout> {
        let count_position = self.out.len();
        self.out.u2(0);
        for table in &parts.tables {
            tables::table(table, places, (parts.max_locals, self.sink.pool), self.out)?;
        }
        // One table more than there were could be one too many.
        let mut count = u16::try_from(parts.tables.len()).map_err(|_| Bailout)?;
        if let Some(content) = frames.finish() {
            count = count.checked_add(1).ok_or(Bailout)?;
            let name = match parts.frames {
                Some(table) => table.name_index,
                None => self.frames_name(frames_name)?,
            };
            self.out.u2(name);
            self.out.u4(content.len() as u32);
            self.out.bytes(content);
        }
        self.out.patch_u2(count_position, count);
        Ok(())
    }
}
