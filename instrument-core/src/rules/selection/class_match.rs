//! One rule against one class.

use super::asked_class::AskedClass;
use super::conditions::origin::OriginKey;
use super::jdk_packages::is_jdk_class;
use super::rule::CompiledRule;

/// What a rule says to a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ClassMatch {
    /// All conditions on the class hold.
    Matches,
    /// The rule names neither classes nor modules of the JDK, to which this one belongs.
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
    /// Its loader, module or jar is another one.
    OtherOrigin(OriginKey),
    /// Its constants name no method that matches `calls`.
    CallsNothing,
}

pub(super) fn match_class(rule: &CompiledRule, facts: &AskedClass<'_, '_>) -> ClassMatch {
    let name = facts.name();
    if rule.names_no_class() {
        if rule.leaves_jdk_alone() && is_jdk_class(name) {
            return ClassMatch::Jdk;
        }
    } else if !rule.class.iter().any(|pattern| !pattern.negated && pattern.glob.matches(name)) {
        return ClassMatch::NotNamed;
    } else if rule.class_taken_away(name).is_some() {
        return ClassMatch::TakenAway;
    }
    // Annotations first: they are in the class itself, so a class without them never has to wait for its super types.
    if !rule.annotated.is_empty() && !rule.annotated.iter().any(|wanted| facts.is_annotated(wanted)) {
        return ClassMatch::NotAnnotated;
    }
    if !rule.extends.is_empty() {
        let supertypes = facts.supertypes();
        if !rule.extends.iter().any(|(_, number)| supertypes.has(*number)) {
            let is_known = supertypes.unresolved.is_empty();
            return if is_known { ClassMatch::DoesNotExtend } else { ClassMatch::Unresolved };
        }
    }
    // Questions to the JVM, and those that need all constants, are the last: few classes are left.
    if let Some(key) = facts.origin().failing(rule) {
        return ClassMatch::OtherOrigin(key);
    }
    if !rule.calls.is_empty() && facts.subject.first_called(&rule.calls).is_none() {
        return ClassMatch::CallsNothing;
    }
    ClassMatch::Matches
}
