//! The facts of the class in the hook, looked up when a rule asks what is in its methods.

use std::cell::OnceCell;
use std::sync::Arc;

use classfile::ClassFile;
use instrument_core::facts::ClassFacts;
use instrument_core::selection::FactSource;

use crate::classes::known_facts::KnownFacts;
use crate::jvm;

/// The facts of one class.
pub(super) struct HookFacts<'a> {
    known: &'a KnownFacts,
    class: &'a jvm::ClassFile<'a>,
    /// Several sets of rules may ask.
    found: OnceCell<Arc<ClassFacts>>,
}

impl<'a> HookFacts<'a> {
    /// Nothing is looked up yet.
    pub(super) fn new(known: &'a KnownFacts, class: &'a jvm::ClassFile<'a>) -> HookFacts<'a> {
        HookFacts { known, class, found: OnceCell::new() }
    }

    /// Notes what the rules want of the class, if its facts were needed for that.
    pub(super) fn note_decision(&self, name: &[u8], decided: Option<u64>) {
        if self.found.get().is_some() {
            self.known.note_decision(name, self.class.loader_id(), decided);
        }
    }
}

impl FactSource for HookFacts<'_> {
    fn facts(&self, file: &ClassFile<'_>) -> Arc<ClassFacts> {
        let find = || self.known.of(file, self.class.loader_id(), self.class.is_loaded());
        Arc::clone(self.found.get_or_init(find))
    }
}
