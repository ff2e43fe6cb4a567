//! Local slots of the merged method: the target's first, then what only the merge needs, then the template's.

use std::borrow::Cow;

use classfile::descriptor::{FieldType, Kind, MethodDescriptor};
use classfile::{Member, access};

use super::renumber::Renumbering;
use crate::weave::captured::{CapturedValue, CapturedValues};
use crate::weave::refusal::Refusal;
use crate::weave::template::{Needs, Template, Use};

/// A saved argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedArgument<'a> {
    pub(crate) index: u16,
    pub(crate) field_type: FieldType<'a>,
    /// Slot of the parameter itself.
    pub(crate) parameter: u16,
    /// Slot of the copy; `None` if it is used only before the target runs.
    pub(crate) copy: Option<u16>,
}

/// Where everything lies.
#[derive(Clone, Debug)]
pub(crate) struct SlotPlan<'a> {
    /// Slots of the target that keep their places: all of them, unless some are after the template's.
    pub(crate) target: u16,
    /// Where the target's other slots go.
    pub(crate) renumbering: Renumbering,
    /// The result between the target's return and the method's.
    pub(crate) result: Option<(u16, FieldType<'a>)>,
    pub(crate) thrown: Option<u16>,
    pub(crate) boxed_result: Option<u16>,
    pub(crate) receiver_copy: Option<u16>,
    pub(crate) arguments: Vec<SavedArgument<'a>>,
    pub(crate) all_arguments_copy: Option<u16>,
    /// First slot of the template.
    pub(crate) template: u16,
    /// All slots.
    pub(crate) max_locals: u16,
}

impl<'a> SlotPlan<'a> {
    /// Assigns the slots after the first `target` ones; `moved` more of the target follow. `result_in_slot` says whether the
    /// result is kept in a slot at all.
    pub(crate) fn new(
        (template, captured): (&Template, Option<&CapturedValues>),
        method: &Member<'a>,
        descriptor: &MethodDescriptor<'a>,
        [target, moved]: [u16; 2],
        result_in_slot: bool,
    ) -> Result<SlotPlan<'a>, Refusal> {
        let mut next = Next(target);
        let needs = &with_captured(&template.needs, captured);
        let is_static = method.has(access::STATIC);
        let result = descriptor
            .return_type()
            .filter(|_| result_in_slot)
            .map(|result| Ok::<_, Refusal>((next.take(result.kind())?, result)))
            .transpose()?;
        let thrown = needs.thrown.then(|| next.take(Kind::Reference)).transpose()?;
        let boxed = needs.result && descriptor.return_type().is_some();
        let boxed_result = boxed.then(|| next.take(Kind::Reference)).transpose()?;
        let copied = !is_static && needs.receiver == Use::Epilog;
        let receiver_copy = copied.then(|| next.take(Kind::Reference)).transpose()?;
        let mut arguments = Vec::new();
        for &(index, used) in &needs.arguments {
            let (parameter, field_type) = parameter(descriptor, index, is_static)
                .ok_or_else(|| Refusal::NoSuchArgument { index, arguments: descriptor.parameters().count() as u16 })?;
            let copy = (used == Use::Epilog).then(|| next.take(field_type.kind())).transpose()?;
            arguments.push(SavedArgument { index, field_type, parameter, copy });
        }
        let all_arguments_copy =
            (needs.all_arguments == Use::Epilog).then(|| next.take(Kind::Reference)).transpose()?;
        let first = next.0;
        let end = first.checked_add(template.max_locals).ok_or(Refusal::TooManyLocals)?;
        let max_locals = end.checked_add(moved).ok_or(Refusal::TooManyLocals)?;
        let renumbering = if moved == 0 { Renumbering::NONE } else { Renumbering { from: target, by: end - target } };
        Ok(SlotPlan {
            target,
            renumbering,
            result,
            thrown,
            boxed_result,
            receiver_copy,
            arguments,
            all_arguments_copy,
            template: first,
            max_locals,
        })
    }
}

/// What a template needs, and what it is given to capture.
fn with_captured<'n>(needs: &'n Needs, captured: Option<&CapturedValues>) -> Cow<'n, Needs> {
    let Some(captured) = captured.filter(|_| needs.captured != Use::Nowhere) else { return Cow::Borrowed(needs) };
    let mut needs = needs.clone();
    for value in &captured.values {
        match value {
            CapturedValue::Receiver => needs.receiver = needs.receiver.max(needs.captured),
            CapturedValue::Argument(index) => needs.use_argument(*index, needs.captured),
            CapturedValue::Result => {}
        }
    }
    Cow::Owned(needs)
}

/// The next free slot.
struct Next(u16);

impl Next {
    fn take(&mut self, kind: Kind) -> Result<u16, Refusal> {
        let slot = self.0;
        self.0 = slot.checked_add(kind.words()).ok_or(Refusal::TooManyLocals)?;
        Ok(slot)
    }
}

/// Slot and type of a parameter, counted from 0 without the receiver.
pub(crate) fn parameter<'a>(
    descriptor: &MethodDescriptor<'a>,
    index: u16,
    is_static: bool,
) -> Option<(u16, FieldType<'a>)> {
    let mut slot = u16::from(!is_static);
    for (at, field_type) in descriptor.parameters().enumerate() {
        if at == usize::from(index) {
            return Some((slot, field_type));
        }
        slot = slot.checked_add(field_type.kind().words())?;
    }
    None
}
