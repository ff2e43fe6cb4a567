//! The scope of a template: the local that is handed to the target's call sites, `long scope = Target.scope(Sites.enter(Target.id()))`.
//!
//! The class whose method gives the value is the one that the sites call: `begin(long, int)`, `end(long, int)` and `caught(long)`.

use classfile::{Tag, opcode};

use super::intrinsic::Intrinsic;
use super::lint::successors;
use super::symbol::{MemberSymbol, Symbol};
use super::{Operation, OperationKind, Template};

/// The local, and what is called with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scope {
    pub(crate) slot: u16,
    /// Index of the symbol of the method that is called before a site.
    pub(crate) begin: usize,
    /// After it.
    pub(crate) end: usize,
    /// Where an exception handler begins.
    pub(crate) caught: usize,
}

const FORM: &str = "Target.scope needs the result of a static method, and a local of its own that is assigned nowhere else: \
                    long scope = Target.scope(Sites.enter(Target.id()))";

/// The operation at fault, and what is wrong with it.
type Problem = (usize, String);

/// Returns the scope that the template declares, and adds the symbols of the methods that are called with it.
pub(super) fn find(template: &mut Template) -> Result<Option<Scope>, Problem> {
    let mut declared = template.operations.iter().enumerate().filter(|(_, operation)| is_scope(operation));
    let Some((at, _)) = declared.next() else { return Ok(None) };
    if let Some((second, _)) = declared.next() {
        return Err((second, "calls Target.scope() more than once; call it exactly once".to_owned()));
    }
    if at > template.sentinel {
        return Err((
            at,
            "calls Target.scope() after Target.proceed(), where it is too late for call sites".to_owned(),
        ));
    }
    let wrong = || (at, FORM.to_owned());
    let owner = owner_of_value(template, at).ok_or_else(wrong)?;
    let slot = own_slot(template, at).ok_or_else(wrong)?;
    let mut method = |name: &[u8], descriptor: &[u8]| {
        let (tag, owner, name, descriptor) = (Tag::Methodref as u8, owner.clone(), name.to_vec(), descriptor.to_vec());
        template.symbols.push(Symbol::Member(MemberSymbol { tag, owner, name, descriptor }));
        template.symbols.len() - 1
    };
    let (begin, end, caught) = (method(b"begin", b"(JI)V"), method(b"end", b"(JI)V"), method(b"caught", b"(J)V"));
    Ok(Some(Scope { slot, begin, end, caught }))
}

fn is_scope(operation: &Operation) -> bool {
    operation.kind == OperationKind::Intrinsic(Intrinsic::Scope)
}

/// Returns the class whose static method gives the value.
fn owner_of_value(template: &Template, at: usize) -> Option<Vec<u8>> {
    match &template.operations.get(at.checked_sub(1)?)?.kind {
        OperationKind::Constant { opcode: opcode::INVOKESTATIC, symbol, .. } => match template.symbols.get(*symbol)? {
            Symbol::Member(member) if member.tag == Tag::Methodref as u8 => Some(member.owner.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the slot that the value is stored into, if nothing else is ever stored there and nothing jumps between the two.
fn own_slot(template: &Template, at: usize) -> Option<u16> {
    let slot = match template.operations.get(at + 1)?.kind {
        OperationKind::Local { opcode: opcode::LSTORE, slot } => slot,
        _ => return None,
    };
    for (from, operation) in template.operations.iter().enumerate() {
        let mut jumps_between = false;
        successors(from, &template.operations, |to| jumps_between |= to != from + 1 && (at..=at + 1).contains(&to));
        if jumps_between || (from != at + 1 && overwrites(&operation.kind, slot)) {
            return None;
        }
    }
    Some(slot)
}

/// Returns whether the operation changes one of the two slots from `wanted` on.
fn overwrites(kind: &OperationKind, wanted: u16) -> bool {
    let (slot, slots) = match *kind {
        OperationKind::Local { opcode: opcode::LSTORE | opcode::DSTORE, slot } => (slot, 2),
        OperationKind::Local { opcode: opcode::ISTORE..=opcode::ASTORE, slot }
        | OperationKind::Increment { slot, .. } => (slot, 1),
        _ => return false,
    };
    slot < wanted.saturating_add(2) && wanted < slot.saturating_add(slots)
}
