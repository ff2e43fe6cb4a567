//! Puts a template around a method (requirements N1): prolog, target, epilog, in one list of nodes; offsets come last.

pub(crate) mod constructor;
pub(crate) mod emit;
pub(crate) mod frames;
pub(crate) mod handlers;
pub(crate) mod renumber;
pub(crate) mod returns;
pub(crate) mod slots;
pub(crate) mod splice;
pub(crate) mod tables;
