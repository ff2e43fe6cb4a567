//! Classes whose super types are not known when the hook sees them: they wait until they are linked, and are decided then.

use rustc_hash::FxHashSet;

use crate::classes::hierarchy::{ClassId, Latecomers, class_id};
use crate::desired::generation::Generation;
use crate::jvm::{Jni, Jvmti, LoadedClasses};
use crate::transform::instrumentation::Instrumentation;

/// Has classes that were decided too early wait until they are linked.
pub(crate) struct Undecided<'a> {
    pub(crate) instrumentation: &'a Instrumentation,
    pub(crate) generation: &'a Generation,
    pub(crate) jvmti: Jvmti,
    pub(crate) jni: &'a Jni<'a>,
}

impl Latecomers for Undecided<'_> {
    fn keep_unfinished(&self, classes: &mut FxHashSet<ClassId>) {
        let Ok(loaded) = LoadedClasses::all(self.jvmti, self.jni) else { return };
        let names: FxHashSet<Box<[u8]>> = classes.iter().map(|(name, _)| name.clone()).collect();
        for class in loaded.as_slice() {
            if class.internal_name(self.jvmti).is_some_and(|name| names.contains(name.as_slice()))
                && let Some(id) = class_id(self.jvmti, self.jni, *class)
            {
                classes.remove(&id);
            }
        }
    }

    fn note(&self, (name, loader): &ClassId) {
        if self.generation.wants_name(name) {
            self.instrumentation.late.remember(self.jvmti, name, *loader);
        }
    }

    fn note_doubtful(&self, (name, loader): &ClassId) {
        if self.generation.wants_name(name) {
            self.instrumentation.late.remember_doubtful(self.jvmti, name, *loader);
        }
    }
}
