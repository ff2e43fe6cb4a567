//! Puts a template around a method (requirements N1): prolog, target, epilog, in one list of nodes, with offsets assigned last
//! ([`splice`]). Most methods and templates are simpler than that and are merged in one walk ([`straight`]).
//!
//! The merge by way of nodes, in its order: [`slots`] (locals), [`emit`] (instructions of the template), [`returns`], [`renumber`],
//! [`constructor`], [`handlers`], [`frames`], [`tables`] (debug tables).

pub(crate) mod constructor;
pub(crate) mod emit;
pub(crate) mod frames;
pub(crate) mod handlers;
pub(crate) mod places;
pub(crate) mod renumber;
pub(crate) mod returns;
pub(crate) mod slots;
pub(crate) mod splice;
pub(crate) mod straight;
pub(crate) mod tables;
