//! Constructors: only where the object is initialised can it be protected; before `super()` or `this()` nobody may touch it.

use classfile::instruction::Instructions;
use classfile::{ConstantPool, opcode};

use super::frames::TargetFrames;
use crate::weave::body::super_call::{Initialisation, Stretches};
use crate::weave::refusal::Refusal;

/// Returns the original offsets where the object of a constructor is initialised.
pub(crate) fn initialised(
    bytecode: &[u8],
    pool: &ConstantPool<'_>,
    frames: &TargetFrames,
    has_frames: bool,
) -> Result<Stretches, Refusal> {
    let mut initialisation = Initialisation::new(has_frames);
    let mut frames = frames.iter().peekable();
    for instruction in Instructions::new(bytecode) {
        let instruction = instruction?;
        while let Some(frame) =
            frames.next_if(|frame| frame.as_ref().map_or(true, |frame| frame.offset <= instruction.offset))
        {
            let frame = frame?;
            initialisation.note_frame(frame.offset, frame.locals.iter().chain(frame.stack));
        }
        match instruction.opcode {
            opcode::NEW => initialisation.note_new(),
            opcode::INVOKESPECIAL if calls_constructor(instruction.u2(0), pool)? => {
                initialisation.note_constructor_call(instruction.offset);
            }
            _ => {}
        }
    }
    let stretches = initialisation.finish(bytecode.len() as u32);
    if stretches.is_empty() { Err(Refusal::ConstructorShape) } else { Ok(stretches) }
}

/// Returns whether `invokespecial` calls a constructor through this constant. One beyond the end of the original pool is of a template
/// merged before, which calls nothing else in this way.
fn calls_constructor(index: u16, pool: &ConstantPool<'_>) -> classfile::Result<bool> {
    Ok(index >= pool.count() || pool.member_ref(index)?.name == "<init>")
}
