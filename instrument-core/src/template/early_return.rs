//! javac jumps from the end of a `finally` over the handler to the method's one return. A return in the jump's place is shorter,
//! needs no frame, and leaves the normal way straight: then a merged method can keep its result on the operand stack.

use classfile::opcode;

use super::{Operation, OperationKind, TemplateFrame, TemplateHandler};

/// Moves the last return to the one jump that leads to it, if nothing else does.
pub(super) fn take(
    operations: &mut Vec<Operation>,
    frames: &mut Vec<TemplateFrame>,
    handlers: &mut [TemplateHandler],
) -> Option<()> {
    let last = operations.len().checked_sub(1)?;
    let before = operations.get(last.checked_sub(1)?)?;
    if operations.get(last)?.kind != OperationKind::Return || falls_through(&before.kind) {
        return None;
    }
    let mut jumps = operations.iter().enumerate().filter(|(_, operation)| leads_to(&operation.kind, last));
    let (jump, only) = jumps.next()?;
    let is_goto = matches!(only.kind, OperationKind::Branch { opcode: opcode::GOTO, .. });
    if jumps.next().is_some() || !is_goto || handlers.iter().any(|row| row.handler == last || row.covers(jump)) {
        return None;
    }
    operations.get_mut(jump)?.kind = OperationKind::Return;
    operations.truncate(last);
    frames.retain(|frame| frame.operation != last);
    handlers.iter_mut().for_each(|row| row.end = row.end.min(last));
    Some(())
}

fn falls_through(kind: &OperationKind) -> bool {
    match kind {
        OperationKind::Plain(bytes) => bytes.first() != Some(&opcode::ATHROW),
        OperationKind::Branch { opcode, .. } => *opcode != opcode::GOTO,
        OperationKind::Switch { .. } | OperationKind::Return => false,
        _ => true,
    }
}

fn leads_to(kind: &OperationKind, operation: usize) -> bool {
    match kind {
        OperationKind::Branch { target, .. } => *target == operation,
        OperationKind::Switch { default, cases, .. } => {
            *default == operation || cases.iter().any(|(_, target)| *target == operation)
        }
        _ => false,
    }
}
