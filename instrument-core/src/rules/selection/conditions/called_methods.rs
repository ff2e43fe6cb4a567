//! What the bodies of methods call, as the constant pool names it.

use classfile::instruction::Instructions;
use classfile::{ClassFile, MemberKind, Tag, opcode};

use crate::rules::patterns::call_pattern::{CallPattern, is_called};

/// The first matching method among the constants of the class: class and method. Without one no body can call it, and none is read.
pub(in crate::rules::selection) fn first_constant<'a>(
    class: &ClassFile<'a>,
    patterns: &[CallPattern],
) -> Option<(&'a [u8], &'a [u8])> {
    let pool = class.constant_pool();
    let mut memory = Vec::new();
    pool.entries()
        .filter(|(_, tag)| matches!(tag, Tag::Methodref | Tag::InterfaceMethodref))
        .filter_map(|(index, _)| pool.member_ref(index).ok())
        .find(|called| is_called(patterns, called.owner.0, called.name.0, &mut memory))
        .map(|called| (called.owner.0, called.name.0))
}

/// The first matching call of a body, as `package.Class.method`. What cannot be read calls nothing.
pub(in crate::rules::selection) fn first_call<'a>(
    class: &ClassFile<'a>,
    bytecode: &[u8],
    patterns: &[CallPattern],
) -> Option<(&'a [u8], &'a [u8])> {
    let pool = class.constant_pool();
    let mut memory = Vec::new();
    Instructions::new(bytecode)
        .flatten()
        .filter(|instruction| (opcode::INVOKEVIRTUAL..=opcode::INVOKEINTERFACE).contains(&instruction.opcode))
        .filter_map(|call| pool.member_ref(call.u2(0)).ok())
        .filter(|called| called.kind != MemberKind::Field)
        .find(|called| is_called(patterns, called.owner.0, called.name.0, &mut memory))
        .map(|called| (called.owner.0, called.name.0))
}
