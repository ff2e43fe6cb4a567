//! Method bodies as lists of nodes, whose jumps and tables point at nodes instead of offsets.

pub(crate) mod definition_checks;
pub(crate) mod input;
pub(crate) mod layout;
pub(crate) mod lift;
pub(crate) mod local_access;
pub(crate) mod meeting_references;
pub(crate) mod node;
pub(crate) mod operands;
pub(crate) mod stack_depth;
