//! Puts a template around a method (requirements N1): prolog, target, epilog, in one list of nodes, with offsets assigned last
//! ([`node_merge`]). Most methods and templates are simpler than that and are merged in a single pass ([`single_pass`]).
//!
//! Both walkers fill one map from original to new offsets ([`places`]), shift exception rows ([`handlers`]) and debug tables
//! ([`tables`]) with it, and extend frames in one way ([`frame_types`]). The merge by way of nodes, in its order: [`slots`] (locals), [`emit`] (instructions of the template),
//! [`returns`], [`renumber`], [`constructor`], [`frames`], and then what relates to the laid-out code.

pub(crate) mod call_sites;
mod constructor;
pub(crate) mod emit;
pub(crate) mod frame_types;
pub(crate) mod frames;
pub(crate) mod handlers;
pub(crate) mod node_merge;
pub(crate) mod places;
pub(crate) mod renumber;
pub(crate) mod returns;
pub(crate) mod single_pass;
pub(crate) mod slots;
pub(crate) mod tables;
