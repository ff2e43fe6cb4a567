//! A template resolved against one class: its constants have their places in the class's pool, so that every method of
//! the class takes the same pieces.

use classfile::stack_map::VerificationType;
use classfile::{ByteWriter, opcode};

use super::Bailout;
use crate::weave::merge::emit::{increment_bytes, local_bytes};
use crate::weave::merge::frame_types::{append_live_locals, append_template_types};
use crate::weave::template::symbol::SymbolSink;
use crate::weave::template::{Intrinsic, OperationKind, Template, TemplateId};

/// The template's code, frames and handlers.
#[derive(Debug, Default)]
pub(crate) struct ResolvedTemplate {
    /// What it was made of; `None` after the class has changed.
    template: Option<TemplateId>,
    prolog: Vec<Piece>,
    epilog: Vec<Piece>,
    /// The template's locals that live while the target runs.
    pub(super) live: Vec<VerificationType>,
    pub(super) frames: Vec<HandlerFrame>,
    /// The caught class of each of the template's handlers.
    pub(super) catch_types: Vec<u16>,
}

/// A frame where exceptions arrive.
#[derive(Debug, Default)]
pub(super) struct HandlerFrame {
    /// The operation it applies to.
    pub(super) operation: usize,
    pub(super) locals: Vec<VerificationType>,
    pub(super) stack: Vec<VerificationType>,
}

/// A part of the template's code that is written in one go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// The operation it belongs to.
    pub(super) operation: u16,
    kind: PieceKind,
}

#[derive(Clone, Copy, Debug)]
enum PieceKind {
    Bytes([u8; 8], u8),
    Local { opcode: u8, slot: u16 },
    Increment { slot: u16, by: i16 },
    Probe,
    Return,
}

/// What differs from method to method.
#[derive(Clone, Copy, Debug)]
pub(super) struct MethodOperands {
    /// First slot of the template.
    pub(super) template_slot: u16,
    /// Constant that holds the probe's number.
    pub(super) probe_constant: Option<u16>,
    /// The instruction that loads a stored result.
    pub(super) load_result: ([u8; 4], usize),
    pub(super) return_opcode: u8,
}

impl MethodOperands {
    /// Returns the slot of one of the template's locals.
    fn slot(&self, of_template: u16) -> Result<u16, Bailout> {
        self.template_slot.checked_add(of_template).ok_or(Bailout)
    }
}

impl ResolvedTemplate {
    /// Has to be made again.
    pub(super) fn forget(&mut self) {
        self.template = None;
    }

    /// Makes the form, unless it is there already; all of the template's constants must have been placed.
    pub(super) fn prepare(
        &mut self,
        id: TemplateId,
        template: &Template,
        sink: &mut SymbolSink<'_, '_>,
    ) -> Result<(), Bailout> {
        if self.template == Some(id) {
            return Ok(());
        }
        self.prolog.clear();
        self.epilog.clear();
        for (index, operation) in template.operations.iter().enumerate() {
            let pieces = if index < template.sentinel { &mut self.prolog } else { &mut self.epilog };
            add_pieces(index as u16, &operation.kind, template, sink, pieces)?;
        }
        self.live.clear();
        append_live_locals(template, sink, &mut self.live)?;
        self.frames.clear();
        for frame in &template.frames {
            let mut resolved = HandlerFrame { operation: frame.operation, ..HandlerFrame::default() };
            append_template_types(&frame.locals, template, sink, &mut resolved.locals)?;
            append_template_types(&frame.stack, template, sink, &mut resolved.stack)?;
            self.frames.push(resolved);
        }
        self.catch_types.clear();
        for row in &template.handlers {
            let catch_type = row.catch_type.map_or(Ok(0), |symbol| placed(symbol, template, sink))?;
            self.catch_types.push(catch_type);
        }
        self.template = Some(id);
        Ok(())
    }

    pub(super) fn prolog(&self) -> &[Piece] {
        &self.prolog
    }

    pub(super) fn epilog(&self) -> &[Piece] {
        &self.epilog
    }
}

impl Piece {
    /// Appends the piece as it is in one method.
    #[inline]
    pub(super) fn write(&self, method: &MethodOperands, out: &mut ByteWriter) -> Result<(), Bailout> {
        match self.kind {
            PieceKind::Bytes(bytes, length) => out.first_of(bytes, length.into()),
            PieceKind::Local { opcode, slot } => {
                let (bytes, length) = local_bytes(opcode, method.slot(slot)?);
                out.first_of(bytes, length);
            }
            PieceKind::Increment { slot, by } => {
                let (bytes, length) = increment_bytes(method.slot(slot)?, by);
                out.first_of(bytes, length);
            }
            PieceKind::Probe => {
                let (bytes, length) = constant_bytes(opcode::LDC, method.probe_constant.ok_or(Bailout)?);
                out.first_of(bytes, length);
            }
            PieceKind::Return => {
                let (bytes, length) = method.load_result;
                out.first_of(bytes, length);
                out.u1(method.return_opcode);
            }
        }
        Ok(())
    }
}

fn add_pieces(
    operation: u16,
    kind: &OperationKind,
    template: &Template,
    sink: &mut SymbolSink<'_, '_>,
    pieces: &mut Vec<Piece>,
) -> Result<(), Bailout> {
    let mut bytes = |bytes: &[u8]| {
        for part in bytes.chunks(8) {
            let mut padded = [0; 8];
            padded.iter_mut().zip(part).for_each(|(to, byte)| *to = *byte);
            pieces.push(Piece { operation, kind: PieceKind::Bytes(padded, part.len() as u8) });
        }
    };
    let kind = match kind {
        OperationKind::Plain(plain) => {
            bytes(plain);
            return Ok(());
        }
        OperationKind::Constant { opcode, symbol, suffix, suffix_length } => {
            let (instruction, length) = constant_bytes(*opcode, placed(*symbol, template, sink)?);
            bytes(instruction.get(..length).unwrap_or_default());
            bytes(suffix.get(..usize::from(*suffix_length)).unwrap_or_default());
            return Ok(());
        }
        OperationKind::Local { opcode, slot } => PieceKind::Local { opcode: *opcode, slot: *slot },
        OperationKind::Increment { slot, by } => PieceKind::Increment { slot: *slot, by: *by },
        OperationKind::Intrinsic(Intrinsic::ProbeId) => PieceKind::Probe,
        OperationKind::Return => PieceKind::Return,
        // Nothing is left of these, but something may refer to their place.
        OperationKind::Intrinsic(Intrinsic::Proceed) | OperationKind::Folded => PieceKind::Bytes([0; 8], 0),
        _ => return Err(Bailout),
    };
    pieces.push(Piece { operation, kind });
    Ok(())
}

/// An instruction with a constant in its shortest form.
fn constant_bytes(opcode: u8, index: u16) -> ([u8; 4], usize) {
    let [high, low] = index.to_be_bytes();
    match (opcode, high) {
        (opcode::LDC, 0) => ([opcode::LDC, low, 0, 0], 2),
        (opcode::LDC, _) => ([opcode::LDC_W, high, low, 0], 3),
        _ => ([opcode, high, low, 0], 3),
    }
}

fn placed(symbol: usize, template: &Template, sink: &mut SymbolSink<'_, '_>) -> Result<u16, Bailout> {
    let (index, _) = sink.symbol(&template.symbols, symbol)?.ok_or(Bailout)?;
    Ok(index)
}
