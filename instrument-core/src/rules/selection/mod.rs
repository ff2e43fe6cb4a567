//! Which methods get which template: rules compiled from the configuration and asked class by class.
//!
//! Order of decision for a method: `[exclude]` and the agent's own classes first; then the rules in order. The first rule
//! whose conditions on class and method all hold decides: its `exclude`, the kind of body, the pre-filter and the
//! methods that the runtime itself uses can still leave the method alone, but no later rule is asked. `!` patterns and
//! the switches `constructors`, `class-initialisers` and `bridges` are conditions: where they say no, the next rule is asked.
//!
//! [`compile`] makes rules of the configuration, [`name_index`] finds the rules for a name, [`first_look`] says no from the head of a class
//! alone, [`rule_set`] decides with [`class_match`], [`method_match`] and [`hierarchy`], [`explain`] says why. Both decide about a [`subject`]: a class file, or
//! the facts (`facts/`) about one.
//! [`delegate_marks`] are methods that others hand over to be called.
//! [`conditions`] are those on origin and called methods; [`class_context`] is what a decision asks besides the bytes of a class.
//! [`untouchable`] and [`used_by_runtime`] what of the JDK is
//! never instrumented; [`unmet_level`], [`missing_parameters`] and [`rule_reach`] what rules ask for in vain.
//!
//! A rule with `extends` whose answer is unknown, because a super type cannot be found yet, counts as not matching; the
//! decision then names the missing types, and deciding again with them known may put an earlier rule in its place.

mod answer_text;
mod asked_class;
mod class_context;
mod class_match;
mod compile;
mod conditions;
mod decision;
mod delegate_marks;
mod explain;
mod explain_text;
mod first_look;
mod hierarchy;
pub mod jdk_packages;
mod method_match;
mod missing_parameters;
mod name_index;
mod rule;
mod rule_reach;
mod rule_set;
pub mod signature;
mod subject;
mod template_catalog;
mod unmet_level;
mod untouchable;
pub mod used_by_runtime;

#[cfg(test)]
mod class_builder;
#[cfg(test)]
mod tests;

pub use crate::facts::Supertypes;
pub use class_context::{ClassContext, Never};
pub use conditions::origin::{ClassOrigin, OriginAnswer, UnknownOrigin};
pub use decision::{Chosen, ClassDecision, MethodDecision, SkipReason};
pub use delegate_marks::DelegateMark;
pub use explain::{ClassExplanation, Instrumentation, MethodExplanation, RuleAnswer};
pub use first_look::FirstLook;
pub use hierarchy::{AskedTypes, Hierarchy};
pub use missing_parameters::MissingParameters;
pub use rule::CompiledRule;
pub use rule_reach::{Figures, RuleReach};
pub use rule_set::{RuleDigests, RuleSet};
pub use subject::{FactSource, NoFactsYet};
pub use template_catalog::TemplateCatalog;
pub use unmet_level::UnmetLevel;
pub use untouchable::Untouchable;
