//! Lists of verification types as both walkers make them: a frame of the target extended, a type of the template with its constant.

use classfile::ModifiedUtf8;
use classfile::descriptor::FieldType;
use classfile::stack_map::{VerificationType, primitive};

use crate::weave::refusal::Refusal;
use crate::weave::template::symbol::SymbolSink;
use crate::weave::template::{Template, TemplateType};

/// Types in all frames of a method together, written out, before it is given up: 32 MB. Each frame of a file may say no more than
/// that one local has been added to thousands.
pub(crate) const MOST_TYPES: usize = 1 << 22;

/// Marks an uninitialised type of the template: the rest is the operation's index, not an original offset.
const OF_TEMPLATE: u32 = 1 << 31;

/// What made an object that is not initialised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MadeObject {
    /// The target's instruction at this original offset.
    OfTarget(u32),
    /// This operation of the template.
    OfTemplate(usize),
}

/// Appends a frame's locals, filled up with tops to `slots` slots, and those that the merge adds after them.
pub(crate) fn append_extended(
    locals: &[VerificationType],
    slots: u16,
    added: &[VerificationType],
    types: &mut Vec<VerificationType>,
) -> Result<(), Refusal> {
    let start = types.len();
    types.extend_from_slice(locals);
    fill_up(types, start, slots)?;
    types.extend_from_slice(added);
    Ok(())
}

/// Appends tops to the locals that begin at `start` until they fill `slots` slots.
pub(crate) fn fill_up(types: &mut Vec<VerificationType>, start: usize, slots: u16) -> Result<(), Refusal> {
    let locals = types.get(start..).ok_or(Refusal::SelfCheck("frame without its locals"))?;
    let used: usize = locals.iter().map(|entry| entry.slots()).sum();
    let missing = usize::from(slots).checked_sub(used).ok_or(Refusal::SelfCheck("frame with too many locals"))?;
    types.resize(types.len() + missing, VerificationType::Top);
    Ok(())
}

/// Names objects that are not initialised by the new offset of what made them.
pub(crate) fn move_made_objects<E>(
    types: &mut [VerificationType],
    new_place: impl Fn(MadeObject) -> Result<u32, E>,
) -> Result<(), E> {
    for entry in types {
        if let VerificationType::Uninitialized(maker) = entry {
            *maker = new_place(match *maker & OF_TEMPLATE {
                0 => MadeObject::OfTarget(*maker),
                _ => MadeObject::OfTemplate((*maker & !OF_TEMPLATE) as usize),
            })?;
        }
    }
    Ok(())
}

/// Appends the template's locals that live while the target runs.
pub(crate) fn append_live_locals(
    template: &Template,
    sink: &mut SymbolSink<'_, '_>,
    types: &mut Vec<VerificationType>,
) -> Result<(), Refusal> {
    let mut next = 0;
    for &(slot, local) in &template.live_locals {
        let gap = usize::from(slot.checked_sub(next).ok_or(Refusal::SelfCheck("locals of the template"))?);
        types.resize(types.len() + gap, VerificationType::Top);
        append_template_types(&[local], template, sink, types)?;
        next = slot + if matches!(local, TemplateType::Long | TemplateType::Double) { 2 } else { 1 };
    }
    Ok(())
}

/// Appends types of the template's frames.
pub(crate) fn append_template_types(
    of_template: &[TemplateType],
    template: &Template,
    sink: &mut SymbolSink<'_, '_>,
    types: &mut Vec<VerificationType>,
) -> Result<(), Refusal> {
    for entry in of_template {
        types.push(match *entry {
            TemplateType::Top => VerificationType::Top,
            TemplateType::Integer => VerificationType::Integer,
            TemplateType::Float => VerificationType::Float,
            TemplateType::Double => VerificationType::Double,
            TemplateType::Long => VerificationType::Long,
            TemplateType::Null => VerificationType::Null,
            TemplateType::Object(symbol) => {
                let placed = sink.symbol(&template.symbols, symbol)?;
                VerificationType::Object(placed.ok_or(Refusal::SelfCheck("template type"))?.0)
            }
            TemplateType::Uninitialized(operation) => VerificationType::Uninitialized(OF_TEMPLATE | operation as u32),
        });
    }
    Ok(())
}

/// Returns the verification type of a field type.
pub(crate) fn verification_type(
    field_type: FieldType<'_>,
    sink: &mut SymbolSink<'_, '_>,
) -> Result<VerificationType, Refusal> {
    Ok(match field_type.class_name() {
        Some(name) => VerificationType::Object(sink.writer.class(sink.pool, ModifiedUtf8(name))?),
        None => primitive(field_type),
    })
}
