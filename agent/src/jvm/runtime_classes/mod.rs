//! The Java runtime's classes: defined, bound to native methods, called.

pub(super) mod define_class;
pub(super) mod modules;
pub(super) mod natives;
pub(super) mod static_members;
