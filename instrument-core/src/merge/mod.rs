//! Puts a template around a method (requirements N1): prolog, target, epilog, in one list of nodes; offsets come last
//! (`splice`). Most methods and templates are simpler than that, and then there is a shorter way (`straight`).

pub(crate) mod constructor;
pub(crate) mod emit;
pub(crate) mod frames;
pub(crate) mod handlers;
pub(crate) mod renumber;
pub(crate) mod returns;
pub(crate) mod slots;
pub(crate) mod splice;
pub(crate) mod straight;
pub(crate) mod tables;
