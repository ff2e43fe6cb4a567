//! The engine's own check of what it wrote, before the JVM sees it: the JVM does not fall back to the original after a
//! VerifyError, and JDK 17 takes damaged boot classes without a word.
//!
//! Checked: every jump, switch case, handler, frame and line refers to the start of an instruction; ranges are not empty; frames ascend,
//! exist at every jump target and handler where frames are used, and name no more locals than there are; local slots and
//! constants are in bounds; control never falls off the end. Not checked: types and stack depth (the JVM's verifier does).

use classfile::opcode::{self, Flow, Form};
use classfile::stack_map::{FrameDecoder, VerificationType};
use classfile::{ByteReader, ExceptionRow, instruction, opcode_outline};

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'b> {
    pub(crate) code: &'b [u8],
    /// The exception table in the form of the file.
    pub(crate) rows: &'b [[u8; 8]],
    pub(crate) max_locals: u16,
    /// Content of the `StackMapTable`, where frames are used.
    pub(crate) frames: Option<&'b [u8]>,
    /// Locals that the descriptor implies.
    pub(crate) implied: &'b [VerificationType],
    /// True if every jump target must have a frame.
    pub(crate) frames_required: bool,
    pub(crate) constants: u16,
}

/// Memory of the check.
#[derive(Debug, Default)]
pub(crate) struct Checker {
    starts: Bits,
    framed: Bits,
    /// Where the jumps and switches lead.
    targets: Vec<i64>,
    locals: Vec<VerificationType>,
    stack: Vec<VerificationType>,
    /// Bodies checked so far.
    pub(crate) count: u64,
}

#[derive(Debug, Default)]
struct Bits {
    words: Vec<u64>,
}

impl Bits {
    fn reset(&mut self, bits: usize) {
        self.words.clear();
        self.words.resize(bits / 64 + 1, 0);
    }

    fn set(&mut self, bit: usize) {
        if let Some(word) = self.words.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    fn has(&self, bit: usize) -> bool {
        self.words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }
}

type Check = Result<(), &'static str>;

impl Checker {
    /// Checks a merged body; the error names the first fault.
    pub(crate) fn check(&mut self, body: &Body<'_>) -> Check {
        self.count += 1;
        self.instructions(body)?;
        self.frames(body)?;
        body.rows.iter().try_for_each(|row| self.row(row, body))?;
        self.jumps(body)
    }

    fn instructions(&mut self, body: &Body<'_>) -> Check {
        self.starts.reset(body.code.len());
        self.targets.clear();
        let (mut at, mut last_at, mut slots) = (0, 0, 0);
        while let Some(&opcode) = body.code.get(at) {
            self.starts.set(at);
            last_at = at;
            let outline = opcode_outline::outline(opcode);
            slots = slots.max(outline.implied_slots);
            if outline.is_plain {
                at += usize::from(outline.length);
                continue;
            }
            let info = opcode::info(opcode).ok_or("unknown opcode")?;
            let length = match outline.length {
                0 => instruction::length_at(body.code, at).map_err(|_| "undecodable instruction")?,
                length => usize::from(length),
            };
            self.operand(info.form, at, body)?;
            at += length;
        }
        let last = body.code.get(last_at).and_then(|&opcode| opcode::info(opcode)).map_or(Flow::Next, |info| info.flow);
        if at != body.code.len() {
            return Err("undecodable instruction");
        }
        if u16::from(slots) > body.max_locals {
            return Err("local slot out of bounds");
        }
        match last {
            Flow::Next | Flow::Conditional | Flow::Subroutine if !is_wide_ret(body.code, last_at) => {
                Err("control falls off the end")
            }
            _ => Ok(()),
        }
    }

    /// Checks the operand of the instruction at `at`; where it jumps to is only noted.
    fn operand(&mut self, form: Form, at: usize, body: &Body<'_>) -> Check {
        let constant = |constant: u16| {
            if constant == 0 || constant >= body.constants { Err("constant out of bounds") } else { Ok(()) }
        };
        let local = |slot: u16, opcode: u8| {
            let end = u32::from(slot) + u32::from(opcode_outline::slots_taken(opcode));
            if end > u32::from(body.max_locals) { Err("local slot out of bounds") } else { Ok(()) }
        };
        let word = |offset: usize| body.code.get(at + offset..).and_then(|rest| rest.first_chunk::<2>());
        let byte_at = |offset: usize| body.code.get(at + offset).copied().unwrap_or_default();
        let byte = || byte_at(1);
        let pair = |offset: usize| word(offset).map_or(0, |bytes| u16::from_be_bytes(*bytes));
        match form {
            Form::Local | Form::Increment => local(u16::from(byte()), byte_at(0)),
            Form::Wide => local(pair(2), byte()),
            Form::ShortConstant => constant(u16::from(byte())),
            Form::Constant | Form::InvokeInterface | Form::InvokeDynamic | Form::MultiNewArray => constant(pair(1)),
            Form::Branch => {
                self.targets.push(at as i64 + i64::from(pair(1) as i16));
                Ok(())
            }
            Form::WideBranch | Form::TableSwitch | Form::LookupSwitch => self.wide_jumps(at, body),
            Form::None | Form::Byte | Form::Short | Form::ArrayType => Ok(()),
        }
    }

    fn wide_jumps(&mut self, at: usize, body: &Body<'_>) -> Check {
        let mut instructions = instruction::Instructions::starting_at(body.code, at);
        let instruction = instructions.next().and_then(Result::ok).ok_or("undecodable instruction")?;
        if let Some(target) = instruction.branch_target() {
            self.targets.push(target);
            return Ok(());
        }
        let switch = instruction.switch().ok_or("truncated switch")?;
        let from = i64::from(switch.offset);
        self.targets.push(from + i64::from(switch.default));
        self.targets.extend(switch.cases().map(|(_, distance)| from + i64::from(distance)));
        Ok(())
    }

    fn frames(&mut self, body: &Body<'_>) -> Check {
        self.framed.reset(body.code.len());
        let Some(content) = body.frames else { return Ok(()) };
        self.locals.clear();
        self.locals.extend_from_slice(body.implied);
        let reader = ByteReader::new(content, 0, "StackMapTable");
        let mut decoder =
            FrameDecoder::new(reader, &mut self.locals, &mut self.stack).map_err(|_| "unreadable frames")?;
        while let Some(offset) = decoder.advance().map_err(|_| "unreadable frames")? {
            if !self.starts.has(offset as usize) {
                return Err("frame not at an instruction");
            }
            let slots: usize = decoder.locals().iter().map(|local| local.slots()).sum();
            if slots > usize::from(body.max_locals) {
                return Err("frame with too many locals");
            }
            self.framed.set(offset as usize);
        }
        Ok(())
    }

    fn target(&self, offset: i64, body: &Body<'_>) -> Check {
        let offset = usize::try_from(offset).map_err(|_| "jump before the code")?;
        if !self.starts.has(offset) || offset >= body.code.len() {
            return Err("jump not to an instruction");
        }
        if body.frames_required && !self.framed.has(offset) {
            return Err("jump to a place without a frame");
        }
        Ok(())
    }

    fn row(&self, row: &[u8; 8], body: &Body<'_>) -> Check {
        let row = ExceptionRow::of(*row);
        let [start, end] = [row.start, row.end].map(usize::from);
        if start >= end || !self.starts.has(start) {
            return Err("handler with a bad range");
        }
        if end != body.code.len() && !self.starts.has(end) {
            return Err("handler with a bad end");
        }
        if row.catch_type >= body.constants {
            return Err("handler with a bad type");
        }
        self.target(row.handler.into(), body)
    }

    fn jumps(&self, body: &Body<'_>) -> Check {
        self.targets.iter().try_for_each(|&target| self.target(target, body))
    }
}

/// Returns whether this is `wide ret`, the only `wide` instruction after which control does not continue.
fn is_wide_ret(code: &[u8], at: usize) -> bool {
    matches!(code.get(at..), Some([opcode::WIDE, opcode::RET, ..]))
}
