//! What class files say, in a form that outlives the file and knows nothing of rules: names, super types, annotations, sizes, calls.
//!
//! A class is analysed once ([`ClassFacts::of`]); rules that are read later decide from the facts (`rules/selection`).

pub mod blocking_calls;
pub mod call_sites;
mod class_facts;
mod delegate_sinks;
mod delegates;
pub mod leaf_bodies;
mod supertypes;
mod texts;

pub use class_facts::{ClassFacts, Delegate, MethodFacts, fingerprint};
pub(crate) use delegate_sinks::method_of_type;
pub use supertypes::Supertypes;
