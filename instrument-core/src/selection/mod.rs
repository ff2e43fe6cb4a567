//! Which methods get which template: rules compiled from the configuration and asked class by class.
//!
//! Order of decision for a method: `[exclude]` and the agent's own classes first; then the rules in order. The first rule
//! whose conditions on class and method all hold decides: its `exclude`, the kind of body, the pre-filter and the
//! methods that the runtime itself uses can still leave the method alone, but no later rule is asked. `!` patterns and
//! the switches `constructors`, `class-initialisers` and `bridges` are conditions: where they say no, the next rule is asked.
//!
//! A rule with `extends` whose answer is unknown, because a super type cannot be found yet, counts as not matching; the
//! decision then names the missing types, and deciding again with them known may put an earlier rule in its place.

pub(crate) mod annotations;
pub mod blocking_calls;
pub mod body_facts;
mod class_facts;
mod class_match;
pub mod class_pattern;
mod compile;
mod decision;
mod explain;
mod explain_text;
mod first_look;
mod hierarchy;
pub mod internal_name;
pub mod jdk_packages;
mod method_match;
pub mod method_pattern;
pub mod name_glob;
mod name_index;
pub mod pattern_error;
mod rule;
mod rule_set;
pub mod signature;
mod template_catalog;
mod thread_names;
pub mod type_pattern;
mod untouchable;
pub mod used_by_runtime;
mod well_known_libraries;

#[cfg(test)]
mod class_builder;
#[cfg(test)]
mod tests;

pub use decision::{Chosen, ClassDecision, MethodDecision, SkipReason};
pub use explain::{ClassExplanation, Instrumentation, MethodExplanation, RuleAnswer};
pub use first_look::FirstLook;
pub use hierarchy::{AskedTypes, Hierarchy, Supertypes};
pub use name_glob::NameGlob;
pub use rule::CompiledRule;
pub use rule_set::{Never, RuleSet};
pub use template_catalog::TemplateCatalog;
pub use thread_names::ThreadNames;
pub use untouchable::Untouchable;
