//! One rule against one method of a class that fulfils the rule's conditions on classes.

use std::cell::OnceCell;

use classfile::{ClassFile, Member, access};

use super::annotations::{carries, collect_annotation_types};
use super::blocking_calls::may_wait;
use super::body_facts::is_leaf_without_loop;
use super::decision::SkipReason;
use super::rule::CompiledRule;
use super::rule_set::Never;
use crate::level::Level;
use crate::rules::config::FilterConfig;

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
    /// The rule does not take this kind of method; the next rule is asked.
    NotThisKind(SkipReason),
    /// The rule decides that it is left alone; no other rule is asked.
    Skips(SkipReason),
}

/// One method with what is known about it.
pub(super) struct MethodFacts<'f, 'a> {
    class: &'f ClassFile<'a>,
    pub(super) method: &'f Member<'a>,
    annotations: OnceCell<Vec<&'a [u8]>>,
}

impl<'f, 'a> MethodFacts<'f, 'a> {
    pub(super) fn new(class: &'f ClassFile<'a>, method: &'f Member<'a>) -> MethodFacts<'f, 'a> {
        MethodFacts { class, method, annotations: OnceCell::new() }
    }

    fn annotations(&self) -> &[&'a [u8]] {
        self.annotations.get_or_init(|| {
            let mut types = Vec::new();
            collect_annotation_types(self.method.attributes(self.class), self.class.constant_pool(), &mut types);
            types
        })
    }
}

pub(super) fn match_method(
    rule: &CompiledRule,
    facts: &MethodFacts<'_, '_>,
    filter: &FilterConfig,
    never: &Never<'_>,
) -> MethodMatch {
    let (name, descriptor) = (facts.method.name.0, facts.method.descriptor.0);
    let named_in_full = match match_patterns(rule, name, descriptor) {
        Ok(named_in_full) => named_in_full,
        Err(no) => return no,
    };
    let annotated = |wanted: &Vec<u8>| carries(facts.annotations(), wanted);
    if !rule.method_annotated.is_empty() && !rule.method_annotated.iter().any(annotated) {
        return MethodMatch::NotAnnotated;
    }
    if let Some(kind) = refused_kind(rule, facts.method, named_in_full) {
        return MethodMatch::NotThisKind(kind);
    }
    let class = facts.class.this_class().0;
    if is_excluded(rule, class, name, descriptor) {
        return MethodMatch::Skips(SkipReason::ExcludedByRule);
    }
    // A probe on a method asked for by name or annotation is wanted for itself; the filter is for what a wildcard sweeps in.
    let swept_in = !named_in_full && rule.method_annotated.is_empty() && rule.level <= Level::Watch;
    if let Some(reason) = unfit_body(facts, swept_in.then_some(filter), rule.sweeps()) {
        return MethodMatch::Skips(reason);
    }
    if never(class, name, descriptor) {
        return MethodMatch::Skips(SkipReason::UsedByRuntime);
    }
    MethodMatch::Takes
}

/// Whether the rule's `method` can hold for some method of the class.
pub(super) fn names_some_method(rule: &CompiledRule, class: &ClassFile<'_>) -> bool {
    let is_named = |method: &Member<'_>| match_patterns(rule, method.name.0, method.descriptor.0).is_ok();
    rule.method.is_empty() || class.methods().iter().any(is_named)
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

fn refused_kind(rule: &CompiledRule, method: &Member<'_>, named_in_full: bool) -> Option<SkipReason> {
    match method.name.0 {
        b"<clinit>" if !rule.class_initialisers && !named_in_full => Some(SkipReason::ClassInitialiser),
        b"<init>" if !rule.constructors && !named_in_full => Some(SkipReason::Constructor),
        b"<init>" | b"<clinit>" => None,
        _ if method.has(access::BRIDGE) && !rule.bridges => Some(SkipReason::Bridge),
        _ => None,
    }
}

fn is_excluded(rule: &CompiledRule, class: &[u8], name: &[u8], descriptor: &[u8]) -> bool {
    rule.exclude.iter().any(|pattern| {
        pattern.method.as_ref().is_none_or(|method| method.matches(name, descriptor)) && pattern.class.matches(class)
    })
}

/// Why the body cannot get or is not worth a probe. `sweeping`: nothing says what the rule is about.
fn unfit_body(facts: &MethodFacts<'_, '_>, filter: Option<&FilterConfig>, sweeping: bool) -> Option<SkipReason> {
    if facts.method.has(access::ABSTRACT) {
        return Some(SkipReason::Abstract);
    }
    if facts.method.has(access::NATIVE) {
        return Some(SkipReason::Native);
    }
    let Ok(Some(code)) = facts.method.code(facts.class) else { return Some(SkipReason::NoCode) };
    // Whoever waits for a lock waits inside the method, however small it is.
    let filter = filter.filter(|_| !facts.method.has(access::SYNCHRONIZED))?;
    let (bytes, class) = (code.bytecode.len(), facts.class);
    let waits = || may_wait(code.bytecode, class.constant_pool());
    if bytes <= filter.max_bytes as usize {
        (!waits()).then_some(SkipReason::Tiny)
    } else if filter.leaf && is_leaf_without_loop(code.bytecode) {
        Some(SkipReason::Leaf)
    } else if sweeping && bytes <= filter.wildcard_max_bytes as usize {
        (!waits()).then_some(SkipReason::SmallByWildcard)
    } else {
        None
    }
}
