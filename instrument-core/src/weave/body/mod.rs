//! Method bodies as lists of nodes, whose jumps and tables point at nodes instead of offsets.
//!
//! - [`input`]: a body as the class file has it; [`definition_checks`]: damage that rewriting would heal;
//! - [`lift`]: from the class file to the nodes of [`node`]; [`layout`]: back, with offsets assigned once and jumps widened only where needed;
//! - [`local_access`], [`stack_depth`], [`operands`]: what an instruction does to locals and stack, and what lies below a result;
//! - [`super_call`]: where a constructor's object is initialised;
//! - [`meeting_references`]: types that an old verifier would have to look up, as far as [`stored_types`] distinguishes them.

pub(crate) mod definition_checks;
pub(crate) mod input;
pub(crate) mod layout;
pub(crate) mod lift;
pub(crate) mod local_access;
pub(crate) mod meeting_references;
pub(crate) mod node;
pub(crate) mod operands;
pub(crate) mod stack_depth;
pub(crate) mod stored_types;
pub(crate) mod super_call;
