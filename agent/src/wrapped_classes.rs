//! Which methods got a wrapper when their class was loaded (decision 008). The JVM lets nobody take a method away again, and hands us
//! the class as it was before our rewriting whenever it is retransformed, by whomever: so these methods get their wrapper each time,
//! with a template as long as a rule wants one, and without one otherwise. Kept for good, beyond the session.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use classfile::{ClassFile, Member};
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Workspace};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::hierarchy::LoaderId;
use crate::jvm;

type NameAndDescriptor = (Box<[u8]>, Box<[u8]>);

/// What is wrapped in the classes of one name, by loader.
type ByLoader = Vec<(LoaderId, Arc<WrappedMethods>)>;

/// Name and descriptor of the methods of one class that have a wrapper.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WrappedMethods {
    methods: Vec<NameAndDescriptor>,
}

impl WrappedMethods {
    /// Whether this method has a wrapper.
    pub(crate) fn contains(&self, method: &Member<'_>) -> bool {
        self.methods.iter().any(|(name, descriptor)| {
            **name == *method.name.as_bytes() && **descriptor == *method.descriptor.as_bytes()
        })
    }
}

impl<'a> FromIterator<&'a Member<'a>> for WrappedMethods {
    fn from_iter<T: IntoIterator<Item = &'a Member<'a>>>(methods: T) -> WrappedMethods {
        let methods =
            methods.into_iter().map(|method| (method.name.as_bytes().into(), method.descriptor.as_bytes().into()));
        WrappedMethods { methods: methods.collect() }
    }
}

/// All classes with wrappers.
#[derive(Debug, Default)]
pub(crate) struct WrappedClasses {
    classes: Mutex<FxHashMap<Box<[u8]>, ByLoader>>,
    /// Whether there are any, to be read without the lock.
    some: AtomicBool,
}

impl WrappedClasses {
    /// Notes what was wrapped in a class that this loader is about to define.
    pub(crate) fn note(&self, name: &[u8], loader: LoaderId, methods: WrappedMethods) {
        if methods.methods.is_empty() && self.is_empty() {
            return;
        }
        let mut classes = self.classes.lock();
        if let Some(loaders) = classes.get_mut(name) {
            loaders.retain(|(known, _)| *known != loader);
        }
        if !methods.methods.is_empty() {
            classes.entry(name.into()).or_default().push((loader, Arc::new(methods)));
            self.some.store(true, Ordering::Release);
        }
    }

    /// Whether any class was ever wrapped.
    pub(crate) fn is_empty(&self) -> bool {
        !self.some.load(Ordering::Acquire)
    }

    /// What is wrapped in a loaded class.
    pub(crate) fn of_class(&self, name: &[u8], loader: LoaderId) -> Option<Arc<WrappedMethods>> {
        if self.is_empty() {
            return None;
        }
        let classes = self.classes.lock();
        classes.get(name)?.iter().find(|(known, _)| *known == loader).map(|(_, methods)| Arc::clone(methods))
    }

    /// A class is retransformed while nobody wants anything of it: the wrappers stay and only pass calls on.
    pub(crate) fn without_templates(&self, class: &jvm::ClassFile<'_>) -> Option<Vec<u8>> {
        if self.is_empty() || !class.is_loaded() {
            return None;
        }
        let wrapped = self.of_class(class.name?, class.jvmti.identity_hash(class.loader))?;
        let file = ClassFile::parse(class.bytes).ok()?;
        let methods = file.methods().iter().enumerate().filter(|(_, method)| wrapped.contains(method));
        let plan: Vec<MethodPlan> = methods.map(|(index, _)| MethodPlan::wrapper(index, Vec::new())).collect();
        let engine = Engine::new(Arc::new(TemplateLibrary::new()), EngineOptions::default());
        match engine.instrument(&mut Workspace::default(), &file, &plan) {
            Outcome::Rewritten(rewritten) => Some(rewritten.bytes),
            Outcome::Unchanged { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn method(name: &str) -> WrappedMethods {
        WrappedMethods { methods: vec![(name.as_bytes().into(), b"()V".as_slice().into())] }
    }

    #[test]
    fn each_loader_has_its_own_and_a_new_definition_replaces_the_old_one() {
        let classes = WrappedClasses::default();
        assert!(classes.is_empty());
        classes.note(b"a/C", 1, WrappedMethods::default());
        assert!(classes.is_empty(), "a class without wrappers is not worth to be remembered");
        classes.note(b"a/C", 1, method("first"));
        classes.note(b"a/C", 2, method("other"));
        classes.note(b"a/C", 1, method("second"));
        assert_eq!(classes.of_class(b"a/C", 1).as_deref(), Some(&method("second")));
        assert_eq!(classes.of_class(b"a/C", 2).as_deref(), Some(&method("other")));
        assert_eq!(classes.of_class(b"a/C", 3), None);
        classes.note(b"a/C", 2, WrappedMethods::default());
        assert_eq!(classes.of_class(b"a/C", 2), None, "this time the class came without");
    }
}
