//! One rule against one class.

use super::annotations::carries;
use super::class_facts::ClassFacts;
use super::jdk_packages::is_jdk_class;
use super::rule::CompiledRule;

/// What a rule says to a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClassMatch {
    /// All conditions on the class hold.
    Matches,
    /// The rule names no classes and this one belongs to the JDK.
    Jdk,
    /// No pattern of `class` matches.
    NotNamed,
    /// A `!` pattern of `class` matches.
    TakenAway,
    /// All super types are known and none is asked for.
    DoesNotExtend,
    /// No known super type is asked for, but some are unknown.
    Unresolved,
    /// None of the annotations is there.
    NotAnnotated,
}

pub(super) fn match_class(rule: &CompiledRule, facts: &ClassFacts<'_, '_>) -> ClassMatch {
    let name = facts.name();
    if rule.names_no_class() {
        if is_jdk_class(name) {
            return ClassMatch::Jdk;
        }
    } else if !rule.class.iter().any(|pattern| !pattern.negated && pattern.glob.matches(name)) {
        return ClassMatch::NotNamed;
    } else if rule.class_taken_away(name).is_some() {
        return ClassMatch::TakenAway;
    }
    // Annotations first: they are in the class itself, so a class without them never has to wait for its super types.
    if !rule.annotated.is_empty() && !rule.annotated.iter().any(|wanted| carries(facts.annotations(), wanted)) {
        return ClassMatch::NotAnnotated;
    }
    if rule.extends.is_empty() {
        return ClassMatch::Matches;
    }
    let supertypes = facts.supertypes();
    match rule.extends.iter().any(|(_, number)| supertypes.has(*number)) {
        true => ClassMatch::Matches,
        false if supertypes.unresolved.is_empty() => ClassMatch::DoesNotExtend,
        false => ClassMatch::Unresolved,
    }
}
