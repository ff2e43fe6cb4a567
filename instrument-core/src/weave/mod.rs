//! Puts templates into methods: class file and plan in, rewritten class file out. Knows nothing of rules.

pub mod ahead;
mod body;
pub mod call_sites;
pub mod captured;
pub mod engine;
pub mod insertion;
mod merge;
pub mod offset_map;
pub mod options;
pub mod outcome;
pub mod refusal;
pub mod template;
mod verify;
pub mod wrapper;

pub(crate) use body::super_call::starts_uninitialised;
