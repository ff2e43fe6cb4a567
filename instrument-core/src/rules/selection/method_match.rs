//! One rule against one method of a class that fulfils the rule's conditions on classes.

use classfile::access;

use super::asked_class::names_type;
use super::class_context::Never;
use super::conditions::called_methods::first_match;
use super::decision::SkipReason;
use super::rule::CompiledRule;
use super::subject::Subject;
use crate::facts::MethodFacts;
use crate::level::Level;
use crate::rules::config::FilterConfig;
use crate::rules::patterns::flag_pattern::FlagPattern;

/// What a rule says to a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MethodMatch {
    /// It is to be instrumented.
    Takes,
    /// No pattern of `method` matches; the next rule is asked.
    NotNamed,
    /// A `!` pattern of `method` matches; the next rule is asked.
    TakenAway,
    /// None of the annotations is there; the next rule is asked.
    NotAnnotated,
    /// It does not have all flags that `flags` asks for; the next rule is asked.
    OtherFlags,
    /// It does not have the `size`; the next rule is asked.
    OtherSize,
    /// It calls no method that matches `calls`; the next rule is asked.
    CallsNothing,
    /// The rule does not take this kind of method; the next rule is asked.
    NotThisKind(SkipReason),
    /// The rule decides that it is left alone; no other rule is asked.
    Skips(SkipReason),
}

pub(super) fn match_method(
    rule: &CompiledRule,
    facts: &MethodFacts<'_>,
    filter: &FilterConfig,
    never: &Never<'_>,
) -> MethodMatch {
    let (name, descriptor) = (facts.name(), facts.descriptor());
    let named_in_full = match match_patterns(rule, name, descriptor) {
        Ok(named_in_full) => named_in_full,
        Err(no) => return no,
    };
    let annotated = |wanted: &Vec<u8>| facts.annotations().any(|descriptor| names_type(descriptor, wanted));
    if !rule.method_annotated.is_empty() && !rule.method_annotated.iter().any(annotated) {
        return MethodMatch::NotAnnotated;
    }
    if !rule.flags.iter().all(|flag| flag.matches(facts.access_flags())) {
        return MethodMatch::OtherFlags;
    }
    if let Some(kind) = refused_kind(rule, facts, named_in_full) {
        return MethodMatch::NotThisKind(kind);
    }
    if let Some(no) = other_body(rule, facts) {
        return no;
    }
    let class = facts.class();
    if is_excluded(rule, class, name, descriptor) {
        return MethodMatch::Skips(SkipReason::ExcludedByRule);
    }
    // A probe on a method asked for by name or annotation is wanted for itself; the filter is for what a wildcard sweeps in.
    let chosen_one_by_one = named_in_full || !rule.method_annotated.is_empty() || !rule.calls.is_empty();
    let swept_in = !chosen_one_by_one && rule.level <= Level::Watch;
    if let Some(reason) = unfit_body(facts, swept_in.then_some(filter), rule) {
        return MethodMatch::Skips(reason);
    }
    if never(class, name, descriptor) {
        return MethodMatch::Skips(SkipReason::UsedByRuntime);
    }
    MethodMatch::Takes
}

/// Why a body that can be read is not what `size` and `calls` ask for.
fn other_body(rule: &CompiledRule, facts: &MethodFacts<'_>) -> Option<MethodMatch> {
    if rule.size.is_none() && rule.calls.is_empty() {
        return None;
    }
    let bytes = facts.size()?;
    if rule.size.as_ref().is_some_and(|size| !size.contains(bytes)) {
        return Some(MethodMatch::OtherSize);
    }
    let is_called = || first_match(facts.calls(), &rule.calls).is_some();
    (!rule.calls.is_empty() && !is_called()).then_some(MethodMatch::CallsNothing)
}

/// Whether the rule's `method` can hold for some method of the class.
pub(super) fn names_some_method(rule: &CompiledRule, class: Subject<'_, '_>) -> bool {
    rule.method.is_empty() || class.has_method(|name, descriptor| match_patterns(rule, name, descriptor).is_ok())
}

/// `Ok(true)` if a pattern without wildcard names the method.
fn match_patterns(rule: &CompiledRule, name: &[u8], descriptor: &[u8]) -> Result<bool, MethodMatch> {
    if rule.method.is_empty() {
        return Ok(false);
    }
    let mut named = false;
    let mut named_in_full = false;
    for pattern in rule.method.iter().filter(|pattern| pattern.matches(name, descriptor)) {
        if pattern.negated {
            return Err(MethodMatch::TakenAway);
        }
        named = true;
        named_in_full |= pattern.literal_name().is_some();
    }
    if named { Ok(named_in_full) } else { Err(MethodMatch::NotNamed) }
}

fn refused_kind(rule: &CompiledRule, method: &MethodFacts<'_>, named_in_full: bool) -> Option<SkipReason> {
    match method.name() {
        b"<clinit>" if !rule.class_initialisers && !named_in_full => Some(SkipReason::ClassInitialiser),
        b"<init>" if !rule.constructors && !named_in_full => Some(SkipReason::Constructor),
        b"<init>" | b"<clinit>" => None,
        _ if method.has(access::BRIDGE) && !rule.bridges && !asks_for_bridges(rule) => Some(SkipReason::Bridge),
        _ => None,
    }
}

fn asks_for_bridges(rule: &CompiledRule) -> bool {
    rule.flags.iter().any(FlagPattern::asks_for_bridges)
}

pub(super) fn is_excluded(rule: &CompiledRule, class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    rule.exclude.iter().any(|pattern| {
        pattern.method.as_ref().is_none_or(|method| method.matches(name, descriptor)) && pattern.class.matches(class)
    })
}

/// Why the body cannot get or is not worth a probe.
fn unfit_body(facts: &MethodFacts<'_>, filter: Option<&FilterConfig>, rule: &CompiledRule) -> Option<SkipReason> {
    if facts.has(access::ABSTRACT) {
        return Some(SkipReason::Abstract);
    }
    if facts.has(access::NATIVE) {
        return Some(SkipReason::Native);
    }
    let Some(bytes) = facts.size() else { return Some(SkipReason::NoCode) };
    // Whoever waits for a lock waits inside the method, however small it is.
    let filter = filter.filter(|_| !facts.has(access::SYNCHRONIZED))?;
    // A rule that states a size says itself what is too small.
    let by_size = rule.size.is_none();
    if by_size && bytes <= filter.max_bytes as usize {
        (!facts.may_wait()).then_some(SkipReason::Tiny)
    } else if filter.leaf && facts.is_leaf() {
        Some(SkipReason::Leaf)
    } else if by_size && rule.sweeps() && bytes <= filter.wildcard_max_bytes as usize {
        (!facts.may_wait()).then_some(SkipReason::SmallByWildcard)
    } else {
        None
    }
}
