//! The engine's own check of what it wrote, before the JVM sees it: the JVM does not fall back to the original after a
//! VerifyError, and JDK 17 takes damaged boot classes without a word.
//!
//! Checked: every jump, switch case, handler, frame and line stands at an instruction; ranges are not empty; frames ascend,
//! stand at every jump target and handler where frames are used, and name no more locals than there are; local slots and
//! constants are in bounds; control never falls off the end. Not checked: types and stack depth (the JVM's verifier does).

use classfile::instruction::{Instruction, Instructions};
use classfile::opcode::{self, Flow, Form};
use classfile::stack_map::{FrameDecoder, VerificationType};
use classfile::{ByteReader, ExceptionRow};

/// What is checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Body<'b> {
    pub(crate) code: &'b [u8],
    pub(crate) rows: &'b [ExceptionRow],
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
    locals: Vec<VerificationType>,
    stack: Vec<VerificationType>,
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
        self.instructions(body)?;
        self.frames(body)?;
        if body.rows.len() > usize::from(u16::MAX) {
            return Err("more than 65,535 handlers");
        }
        for row in body.rows {
            self.row(row, body)?;
        }
        self.jumps(body)
    }

    fn instructions(&mut self, body: &Body<'_>) -> Check {
        self.starts.reset(body.code.len());
        let mut last = Flow::Next;
        for instruction in Instructions::new(body.code) {
            let instruction = instruction.map_err(|_| "undecodable instruction")?;
            self.starts.set(instruction.offset as usize);
            let info = opcode::info(instruction.opcode).ok_or("unknown opcode")?;
            last = info.flow;
            operand(&instruction, info.form, body)?;
            if instruction.opcode == opcode::WIDE && instruction.u1(0) == opcode::RET {
                last = Flow::SubroutineReturn;
            }
        }
        match last {
            Flow::Next | Flow::Conditional | Flow::Subroutine => Err("control falls off the end"),
            _ => Ok(()),
        }
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

    fn row(&self, row: &ExceptionRow, body: &Body<'_>) -> Check {
        let end = usize::from(row.end);
        if row.start >= row.end || !self.starts.has(usize::from(row.start)) {
            return Err("handler with a bad range");
        }
        if end != body.code.len() && !self.starts.has(end) {
            return Err("handler with a bad end");
        }
        if row.catch_type >= body.constants {
            return Err("handler with a bad type");
        }
        self.target(i64::from(row.handler), body)
    }

    fn jumps(&self, body: &Body<'_>) -> Check {
        for instruction in Instructions::new(body.code).flatten() {
            match opcode::info(instruction.opcode).map(|info| info.form) {
                Some(Form::Branch | Form::WideBranch) => {
                    self.target(instruction.branch_target().ok_or("jump without target")?, body)?;
                }
                Some(Form::TableSwitch | Form::LookupSwitch) => {
                    let switch = instruction.switch().ok_or("truncated switch")?;
                    let from = i64::from(switch.offset);
                    self.target(from + i64::from(switch.default), body)?;
                    for (_, distance) in switch.cases() {
                        self.target(from + i64::from(distance), body)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn operand(instruction: &Instruction<'_>, form: Form, body: &Body<'_>) -> Check {
    if let Form::ShortConstant | Form::Constant | Form::InvokeInterface | Form::InvokeDynamic | Form::MultiNewArray =
        form
    {
        let constant = instruction.constant().unwrap_or(0);
        return if constant == 0 || constant >= body.constants { Err("constant out of bounds") } else { Ok(()) };
    }
    let outside = instruction.last_local().is_some_and(|slot| slot >= u32::from(body.max_locals));
    if outside { Err("local slot out of bounds") } else { Ok(()) }
}
