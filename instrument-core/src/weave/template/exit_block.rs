//! javac jumps from the end of a `try` over its handlers to what follows. That in the jump's place is shorter, needs no frame, and
//! leaves the normal way straight: then a merged method can keep its result on the operand stack.

use classfile::opcode;

use super::{Operation, OperationKind, TemplateFrame, TemplateHandler};

/// Moves what the template ends with, from a frame to the last return, to the one jump that leads to it, if nothing else does.
/// Returns the operations in their new order, by their old indexes.
pub(super) fn inline_exit_block(
    operations: &mut Vec<Operation>,
    frames: &mut Vec<TemplateFrame>,
    handlers: &mut [TemplateHandler],
) -> Option<Vec<usize>> {
    let count = operations.len();
    let (jump, tail) = find(operations)?;
    let is_entered = |at: usize| at >= tail && handlers.iter().any(|row| row.handler == at || row.covers(at));
    if handlers.iter().any(|row| row.covers(jump)) || (tail..count).any(is_entered) {
        return None;
    }
    let order: Vec<usize> = (0..jump).chain(tail..count).chain(jump + 1..tail).collect();
    let mut moved = vec![jump; count + 1];
    for (new, old) in order.iter().enumerate() {
        *moved.get_mut(*old)? = new;
    }
    let place = |old: usize| moved.get(old).copied().unwrap_or(old);
    // A row ends after its last operation, wherever the next one was moved.
    let end = |row: &TemplateHandler| place(row.end.saturating_sub(1)) + usize::from(row.end > row.start);
    for row in handlers.iter_mut() {
        (row.start, row.end, row.handler) = (place(row.start), end(row), place(row.handler));
    }
    frames.retain(|frame| frame.operation != tail);
    frames.iter_mut().for_each(|frame| frame.operation = place(frame.operation));
    frames.sort_by_key(|frame| frame.operation);
    *operations = order.iter().filter_map(|old| operations.get(*old).cloned()).collect();
    operations.iter_mut().for_each(|operation| redirect(&mut operation.kind, &place));
    Some(order)
}

/// The jump, and the first operation of what it leads to.
fn find(operations: &[Operation]) -> Option<(usize, usize)> {
    let count = operations.len();
    if operations.last()?.kind != OperationKind::Return {
        return None;
    }
    let goto = |operation: &Operation| match operation.kind {
        OperationKind::Branch { opcode: opcode::GOTO, target } => Some(target),
        _ => None,
    };
    let mut forward = operations.iter().enumerate().filter_map(|(at, operation)| Some((at, goto(operation)?)));
    let (jump, tail) = forward.find(|(at, target)| target > at)?;
    let other_jumps =
        |operation: &(usize, &Operation)| operation.0 != jump && leads_to_or_after(&operation.1.kind, tail);
    let is_entered = operations.iter().enumerate().any(|operation| other_jumps(&operation));
    let is_straight = (tail..count - 1).all(|at| operations.get(at).is_some_and(|operation| runs_on(&operation.kind)));
    let before = operations.get(tail.checked_sub(1)?)?;
    (is_straight && !is_entered && tail > jump + 1 && !falls_through(&before.kind)).then_some((jump, tail))
}

fn runs_on(kind: &OperationKind) -> bool {
    falls_through(kind) && !matches!(kind, OperationKind::Branch { .. })
}

fn falls_through(kind: &OperationKind) -> bool {
    match kind {
        OperationKind::Plain(bytes) => bytes.first() != Some(&opcode::ATHROW),
        OperationKind::Branch { opcode, .. } => *opcode != opcode::GOTO,
        OperationKind::Switch { .. } | OperationKind::Return => false,
        _ => true,
    }
}

fn leads_to_or_after(kind: &OperationKind, operation: usize) -> bool {
    match kind {
        OperationKind::Branch { target, .. } => *target >= operation,
        OperationKind::Switch { default, cases, .. } => {
            *default >= operation || cases.iter().any(|(_, target)| *target >= operation)
        }
        _ => false,
    }
}

fn redirect(kind: &mut OperationKind, place: &impl Fn(usize) -> usize) {
    match kind {
        OperationKind::Branch { target, .. } => *target = place(*target),
        OperationKind::Switch { default, cases, .. } => {
            *default = place(*default);
            cases.iter_mut().for_each(|(_, target)| *target = place(*target));
        }
        _ => {}
    }
}
