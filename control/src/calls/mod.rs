//! What methods call: the call tree up to now, what a method may call, which of its calls make it slow, which methods have slow calls, which are hot.

pub(crate) mod call_tree;
pub(crate) mod callees;
pub(crate) mod diagnosis;
mod diagnosis_figures;
pub(crate) mod hot_spots;
pub(crate) mod suspects;
pub(crate) mod walk;
mod walk_figures;
