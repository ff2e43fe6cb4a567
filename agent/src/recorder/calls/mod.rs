//! Figures of calls for those who ask while the program runs.

pub(super) mod call_rates;
pub(crate) mod call_tree;
pub(super) mod inner_calls;
pub(super) mod live_tree;
pub(crate) mod nested_calls;
