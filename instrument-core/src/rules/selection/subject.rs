//! The class about which is decided: its file, or what is known of a file that was analysed before.

use std::cell::OnceCell;
use std::sync::Arc;

use classfile::ClassFile;
use classfile::attributes::annotations;

use super::conditions::called_methods::{first_constant, first_match};
use crate::facts::{ClassFacts, MethodFacts, Supertypes};
use crate::rules::patterns::call_pattern::CallPattern;

/// Returns what is known about classes.
pub trait FactSource {
    /// Returns the facts about a class, analysed now or before.
    fn facts(&self, class: &ClassFile<'_>) -> Arc<ClassFacts>;
}

/// Analyses each class when it is asked.
#[derive(Clone, Copy, Debug)]
pub struct NoFactsYet;

impl FactSource for NoFactsYet {
    fn facts(&self, class: &ClassFile<'_>) -> Arc<ClassFacts> {
        Arc::new(ClassFacts::of(class))
    }
}

/// A class to be decided. Most classes end before their bodies are asked for, so those of a file are analysed when a rule needs them.
#[derive(Clone, Copy)]
pub(super) enum Subject<'s, 'a> {
    File(&'s ClassFile<'a>, &'s dyn FactSource, &'s OnceCell<Arc<ClassFacts>>),
    Known(&'s ClassFacts),
}

impl<'s> Subject<'s, '_> {
    pub(super) fn name(self) -> &'s [u8] {
        match self {
            Subject::File(class, ..) => class.this_class().0,
            Subject::Known(facts) => facts.name(),
        }
    }

    pub(super) fn supertypes(self) -> Arc<Supertypes> {
        match self {
            Subject::File(class, ..) => Arc::new(Supertypes::of(class)),
            Subject::Known(facts) => Arc::clone(facts.supertypes()),
        }
    }

    /// Descriptors of the annotations on the class.
    pub(super) fn annotations(self) -> Vec<&'s [u8]> {
        match self {
            Subject::File(class, ..) => {
                let descriptor = |index: u16| class.constant_pool().utf8(index).ok();
                let found = annotations(class.attributes());
                found.filter_map(|annotation| Some(descriptor(annotation.descriptor)?.0)).collect()
            }
            Subject::Known(facts) => facts.annotations().collect(),
        }
    }

    /// The first method matching `calls` that the class may call: class and method.
    pub(super) fn first_called(self, patterns: &[CallPattern]) -> Option<(&'s [u8], &'s [u8])> {
        match self {
            Subject::File(class, ..) => first_constant(class, patterns),
            Subject::Known(facts) => first_match(facts.called(), patterns),
        }
    }

    /// Whether some method has a name and a descriptor of which this holds.
    pub(super) fn has_method(self, mut holds: impl FnMut(&[u8], &[u8]) -> bool) -> bool {
        match self {
            Subject::File(class, ..) => class.methods().iter().any(|method| holds(method.name.0, method.descriptor.0)),
            Subject::Known(facts) => facts.methods().any(|method| holds(method.name(), method.descriptor())),
        }
    }

    pub(super) fn method_count(self) -> usize {
        match self {
            Subject::File(class, ..) => class.methods().len(),
            Subject::Known(facts) => facts.methods().len(),
        }
    }

    pub(super) fn methods(self) -> impl ExactSizeIterator<Item = MethodFacts<'s>> + Clone {
        self.facts().methods()
    }

    fn facts(self) -> &'s ClassFacts {
        match self {
            Subject::File(class, source, facts) => facts.get_or_init(|| source.facts(class)),
            Subject::Known(facts) => facts,
        }
    }
}
