//! Which templates can be merged in a single pass, and what is known of them beforehand.

use super::{Intrinsic, Needs, Operation, OperationKind, Template, TemplateFrame, TemplateType};

/// What such a template adds to a method. Its prolog and the normal way of its epilog are runs of instructions without
/// jumps; it asks nothing of the method but a probe number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SinglePassForm {
    /// Words on the operand stack that the prolog and the ways out for exceptions need.
    pub(crate) stack: u16,
    /// Words that the epilog's normal way needs above a result that stays on the stack.
    pub(crate) normal_stack: u16,
}

impl SinglePassForm {
    /// The form of a template; `None` if it must be merged by way of nodes.
    pub(crate) fn of(template: &Template) -> Option<SinglePassForm> {
        let mut operations = template.operations.iter().enumerate();
        let fits = template.epilog_is_straight
            && Needs { probe_id: false, ..template.needs.clone() } == Needs::default()
            && operations.all(|(index, operation)| is_simple(&operation.kind, index > template.sentinel))
            && template.frames.iter().all(|frame| is_at_a_handler(frame, template))
            && !template.live_locals.iter().any(|(_, entry)| matches!(entry, TemplateType::Uninitialized(_)));
        fits.then(|| SinglePassForm {
            stack: stack_of(template, |index, operation| index < template.sentinel || !operation.normal),
            normal_stack: stack_of(template, |index, operation| index > template.sentinel && operation.normal),
        })
    }
}

fn is_simple(kind: &OperationKind, in_epilog: bool) -> bool {
    match kind {
        OperationKind::Branch { .. } | OperationKind::Switch { .. } => false,
        OperationKind::Return => in_epilog,
        OperationKind::Intrinsic(intrinsic) => matches!(intrinsic, Intrinsic::Proceed | Intrinsic::ProbeId),
        _ => true,
    }
}

/// Returns whether the frame is after the target and at code that only exceptions reach.
fn is_at_a_handler(frame: &TemplateFrame, template: &Template) -> bool {
    let operation = template.operations.get(frame.operation);
    let types = || frame.locals.iter().chain(&frame.stack);
    frame.operation > template.sentinel
        && operation.is_some_and(|operation| operation.exceptional && !operation.normal)
        && !types().any(|entry| matches!(entry, TemplateType::Uninitialized(_)))
}

fn stack_of(template: &Template, counts: impl Fn(usize, &Operation) -> bool) -> u16 {
    let operations = template.operations.iter().enumerate().filter(|(index, _)| *index != template.sentinel);
    let counted = operations.filter(|(index, operation)| counts(*index, operation));
    let needed =
        |operation: &Operation| operation.depth + u16::from(matches!(operation.kind, OperationKind::Intrinsic(_)));
    counted.map(|(_, operation)| needed(operation)).max().unwrap_or(0)
}
