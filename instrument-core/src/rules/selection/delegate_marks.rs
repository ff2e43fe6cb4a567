//! Marks: methods that are called as delegates of methods that a rule with `delegates` is about.

use std::fmt;

use classfile::access;

use super::decision::SkipReason;
use super::jdk_packages::is_jdk_class;
use super::method_match::{MethodMatch, is_excluded};
use super::rule::CompiledRule;
use super::subject::Subject;
use crate::facts::{Delegate, MethodFacts, Supertypes, method_of_type};
use crate::internal_name::to_source;
use crate::rules::patterns::delegate_kind::DelegateKind;

/// Two names, or a name and a descriptor.
type Names = (Box<[u8]>, Box<[u8]>);

/// A method that gets the template of a rule because another method hands it to somebody who calls it. It has no reference into a class file, as its class
/// may be loaded later.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DelegateMark {
    /// Internal name of the class of the method.
    pub class: Box<[u8]>,
    /// Number of the rule.
    pub rule: usize,
    /// Whether the class is that of an object which is handed over, so that the method implements one of a functional type.
    is_object: bool,
    /// Name and descriptor; `None` for an object of which it is not known as what it is called.
    method: Option<Names>,
    /// Class and method that create the delegate.
    site: Names,
    /// The method to which it is handed.
    sink: Option<Names>,
}

impl DelegateMark {
    /// The mark for a delegate of this method, if the rule takes it. Methods of the JDK are not marked.
    pub(super) fn of(
        number: usize,
        kind: DelegateKind,
        site: &MethodFacts<'_>,
        delegate: &Delegate<'_>,
    ) -> Option<DelegateMark> {
        let reaches = delegate.sink.is_some() || kind == DelegateKind::Any;
        let own = |(first, second): (&[u8], &[u8])| (Box::from(first), Box::from(second));
        (reaches && !is_jdk_class(delegate.class)).then(|| DelegateMark {
            class: delegate.class.into(),
            rule: number,
            is_object: delegate.is_object,
            method: delegate.method.map(own),
            site: own((site.class(), site.name())),
            sink: delegate.sink.map(own),
        })
    }

    /// Whether the mark is about this method of its class.
    pub(super) fn is_about(&self, method: &MethodFacts<'_>, super_types: &Supertypes) -> bool {
        match &self.method {
            Some((name, descriptor)) if self.is_object => implements((name, descriptor), method),
            Some((name, descriptor)) => method.name() == &**name && method.descriptor() == &**descriptor,
            None => super_types.names().filter_map(method_of_type).any(|called| implements(called, method)),
        }
    }
}

/// Whether a method implements one of a functional type, whose type variables may have been replaced. Bridges forward to it.
fn implements((name, descriptor): (&[u8], &[u8]), method: &MethodFacts<'_>) -> bool {
    let parameters = |descriptor: &[u8]| {
        classfile::descriptor::MethodDescriptor::parse(descriptor).map(|parsed| parsed.parameters().count()).ok()
    };
    method.name() == name
        && !method.has(access::BRIDGE | access::STATIC)
        && parameters(method.descriptor()) == parameters(descriptor)
}

impl fmt::Display for DelegateMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, method) = &self.site;
        write!(f, "delegate of {}.{}", to_source(class), to_source(method))?;
        match &self.sink {
            Some((owner, name)) => {
                let owner = to_source(owner);
                write!(f, ", handed to {}.{}", owner.rsplit('.').next().unwrap_or(&owner), to_source(name))
            }
            None => Ok(()),
        }
    }
}

/// Returns whether the delegates of a method are those that a rule is about, by the rule's answer to the method.
pub(super) fn is_site(answer: MethodMatch) -> bool {
    match answer {
        MethodMatch::Takes | MethodMatch::NotThisKind(_) => true,
        MethodMatch::Skips(reason) => reason != SkipReason::ExcludedByRule,
        MethodMatch::NotNamed
        | MethodMatch::TakenAway
        | MethodMatch::NotAnnotated
        | MethodMatch::OtherFlags
        | MethodMatch::OtherSize
        | MethodMatch::CallsNothing => false,
    }
}

/// Returns what a rule says to a method that is marked for it.
pub(super) fn match_marked(rule: &CompiledRule, method: &MethodFacts<'_>, is_used_by_runtime: bool) -> MethodMatch {
    let skipped = if is_excluded(rule, method.class(), method.name(), method.descriptor()) {
        Some(SkipReason::ExcludedByRule)
    } else if method.has(access::ABSTRACT) {
        Some(SkipReason::Abstract)
    } else if method.has(access::NATIVE) {
        Some(SkipReason::Native)
    } else if method.size().is_none() {
        Some(SkipReason::NoCode)
    } else {
        is_used_by_runtime.then_some(SkipReason::UsedByRuntime)
    };
    skipped.map_or(MethodMatch::Takes, MethodMatch::Skips)
}

/// The marks that are about methods of one class.
pub(super) struct MarksOfClass<'m> {
    marks: Vec<&'m DelegateMark>,
    super_types: Option<std::sync::Arc<Supertypes>>,
}

impl<'m> MarksOfClass<'m> {
    pub(super) fn new(class: Subject<'_, '_>, marks: impl Iterator<Item = &'m DelegateMark>) -> MarksOfClass<'m> {
        let marks: Vec<&DelegateMark> = marks.filter(|mark| *mark.class == *class.name()).collect();
        let super_types = marks.iter().any(|mark| mark.method.is_none()).then(|| class.supertypes());
        MarksOfClass { marks, super_types }
    }

    /// The numbers of the rules that made them.
    pub(super) fn rules(&self) -> impl Iterator<Item = usize> {
        self.marks.iter().map(|mark| mark.rule)
    }

    /// The first mark of the rule that is about the method.
    pub(super) fn find(&self, rule: usize, method: &MethodFacts<'_>) -> Option<&'m DelegateMark> {
        let none = Supertypes::default();
        let super_types = self.super_types.as_deref().unwrap_or(&none);
        self.marks.iter().copied().find(|mark| mark.rule == rule && mark.is_about(method, super_types))
    }
}
