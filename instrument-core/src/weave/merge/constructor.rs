//! Constructors: only what follows `super()` or `this()` can be protected, because before it nobody may touch the object.

use classfile::stack_map::VerificationType;

use super::frames::TargetFrames;
use crate::weave::refusal::Refusal;

/// Original offset from which the constructor is protected.
///
/// The lift counts `new` against constructor calls in code order, which finds the last call on the object itself in
/// whatever compilers write; a frame behind it that still holds an uninitialised object says that the code is laid out
/// otherwise, and then the constructor is left alone.
pub(crate) fn protected_from(behind_super: Option<u32>, frames: &TargetFrames) -> Result<u32, Refusal> {
    let start = behind_super.ok_or(Refusal::ConstructorShape)?;
    let holds_uninitialised = |locals: &[VerificationType]| locals.contains(&VerificationType::UninitializedThis);
    if frames.iter().any(|(offset, locals, _)| offset >= start && holds_uninitialised(locals)) {
        return Err(Refusal::ConstructorShape);
    }
    Ok(start)
}
