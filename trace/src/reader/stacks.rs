//! Sampled stacks in the constant pools. Their frames are an array inside the constant, so they have a reader of their own.

use super::ReadError;
use super::cursor::Cursor;
use super::metadata::{Type, Types};
use super::plan::{Plan, Wanted, skip_field};

/// A stack.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StackTrace {
    /// The innermost frame first.
    pub frames: Box<[StackFrame]>,
    /// Whether outer frames are missing.
    pub truncated: bool,
}

/// A frame of a stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StackFrame {
    /// Key for [`Chunk::method`](super::Chunk::method).
    pub method: u64,
    /// Line of the source, 0 if unknown.
    pub line: u32,
}

const FRAME: Wanted = Wanted { numbers: &["method", "lineNumber"], texts: &[] };

/// Reads one constant of the declared type.
pub(super) fn read_stack(cursor: &mut Cursor<'_>, types: &Types, declared: &Type) -> Result<StackTrace, ReadError> {
    let mut stack = StackTrace::default();
    for field in &declared.fields {
        match field.name.as_str() {
            "truncated" if !field.is_array => stack.truncated = cursor.byte()? != 0,
            "frames" if field.is_array && !field.is_pooled => {
                let Some(plan) = Plan::new(types, field.type_id, FRAME) else {
                    return Err(cursor.error("a stack has frames of a type that is not declared"));
                };
                let count = cursor.count()?;
                let frame = |cursor: &mut Cursor<'_>| {
                    let [method, line, ..] = plan.read_numbers(cursor, types)?;
                    Ok(StackFrame { method, line: u32::try_from(line).unwrap_or(0) })
                };
                stack.frames = (0..count).map(|_| frame(cursor)).collect::<Result<_, ReadError>>()?;
            }
            _ => skip_field(cursor, types, field)?,
        }
    }
    Ok(stack)
}
