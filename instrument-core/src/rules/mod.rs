//! What is instrumented, with which template: the rule file and the decisions made from it.
//!
//! - [`patterns`]: the patterns that name classes, methods, types and threads;
//! - [`predicates`]: conditions on the data of a call;
//! - [`capture`]: the values of a call that a rule asks for;
//! - [`config`]: the TOML file, which uses both;
//! - [`selection`]: rules compiled to a name index, and one decision for each method of a class, with its reason.
//!
//! Each of them uses only those listed before it.

pub mod capture;
pub mod config;
pub mod nearest_name;
pub mod patterns;
pub mod predicates;
pub mod selection;
