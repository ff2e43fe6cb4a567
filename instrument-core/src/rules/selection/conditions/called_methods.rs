//! What the bodies of methods call, as the constant pool names it.

use classfile::{ClassFile, Tag};

use crate::rules::patterns::call_pattern::{CallPattern, is_called};

/// The first matching method among the constants of the class: class and method. Without one no body can call it, and none is read.
pub(in crate::rules::selection) fn first_constant<'a>(
    class: &ClassFile<'a>,
    patterns: &[CallPattern],
) -> Option<(&'a [u8], &'a [u8])> {
    let pool = class.constant_pool();
    let is_method = |tag: Tag| matches!(tag, Tag::Methodref | Tag::InterfaceMethodref);
    let methods =
        pool.entries().filter(|(_, tag)| is_method(*tag)).filter_map(|(index, _)| pool.member_ref(index).ok());
    first_match(methods.map(|called| (called.owner.0, called.name.0)), patterns)
}

/// The first of these methods that the patterns match.
pub(in crate::rules::selection) fn first_match<'c>(
    mut called: impl Iterator<Item = (&'c [u8], &'c [u8])>,
    patterns: &[CallPattern],
) -> Option<(&'c [u8], &'c [u8])> {
    let mut memory = Vec::new();
    called.find(|(owner, name)| is_called(patterns, owner, name, &mut memory))
}
