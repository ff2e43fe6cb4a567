//! Which methods got a wrapper when their class was loaded (decision 008). The JVM lets nobody take a method away again, and hands us
//! the class as it was before our rewriting whenever it is retransformed, by whomever: so these methods get their wrapper each time,
//! with a template as long as a rule wants one, and without one otherwise. Kept beyond the session, as long as the loader of the class
//! lives: servers that deploy applications anew make loaders for ever.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use classfile::{ClassFile, Member};
use instrument_core::template::TemplateLibrary;
use instrument_core::{Engine, EngineOptions, MethodPlan, Outcome, Workspace};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::classes::class_table::ClassTable;
use crate::classes::hierarchy::LoaderId;
use crate::jvm;

type NameAndDescriptor = (Box<[u8]>, Box<[u8]>);

/// Name and descriptor of the methods of one class that have a wrapper.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WrappedMethods {
    methods: Vec<NameAndDescriptor>,
}

impl WrappedMethods {
    /// Whether this method has a wrapper.
    pub(crate) fn contains(&self, method: &Member<'_>) -> bool {
        self.has(method.name.as_bytes(), method.descriptor.as_bytes())
    }

    /// Whether the method of this name and descriptor has a wrapper.
    pub(crate) fn has(&self, name: &[u8], descriptor: &[u8]) -> bool {
        self.methods.iter().any(|(of, by)| **of == *name && **by == *descriptor)
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
    known: Mutex<ClassTable<Arc<WrappedMethods>>>,
    /// Whether there ever were any, to be read without the lock.
    some: AtomicBool,
}

impl WrappedClasses {
    /// Notes what was wrapped in a class that is about to be defined.
    pub(crate) fn note(&self, name: &[u8], class: &jvm::ClassFile<'_>, methods: WrappedMethods) {
        if methods.methods.is_empty() && self.is_empty() {
            return;
        }
        let loader = class.loader_id();
        let mut known = self.known.lock();
        self.some.fetch_or(!methods.methods.is_empty(), Ordering::Release);
        if methods.methods.is_empty() {
            known.remove(name, loader);
        } else {
            known.insert(name, loader, Arc::new(methods));
        }
    }

    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.known.lock().forget(gone);
    }

    /// Loaded classes that have wrappers, as far as is known: those of loaders that are gone are forgotten now and then.
    pub(crate) fn count(&self) -> usize {
        self.known.lock().classes()
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
        self.known.lock().get(name, loader).cloned()
    }

    /// A class is retransformed while nobody wants anything of it: the wrappers stay and only pass calls on.
    pub(crate) fn without_templates(&self, class: &jvm::ClassFile<'_>) -> Option<Vec<u8>> {
        if self.is_empty() || !class.is_loaded() {
            return None;
        }
        let wrapped = self.of_class(class.name?, class.loader_id())?;
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
