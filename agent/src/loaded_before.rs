//! Classes that were loaded before the class hook was on: found, filtered and rewritten in one batch.

use std::sync::Arc;

use classfile::ClassFile;
use rustc_hash::FxHashSet;

use crate::class_plan::{ClassPlan, Coming};
use crate::hierarchy::LoaderView;
use crate::instrumentation::Instrumentation;
use crate::jvm::{self, Jni, Jvmti, LoadedClass, LoadedClasses};
use crate::safe_retransforms::SAFE_RETRANSFORMS;
use crate::statistics::{RefusedMethod, Statistics};

/// Has the JVM present all loaded classes that a rule may want to the class hook.
pub(crate) fn instrument(jvmti: Jvmti, jni: &Jni<'_>, instrumentation: &Instrumentation) {
    let loaded = match LoadedClasses::all(jvmti, jni) {
        Ok(loaded) => loaded,
        Err(error) => {
            tracing::error!(%error, "the loaded classes cannot be listed; they stay as they are");
            return;
        }
    };
    let scan = Scan { jvmti, jni, instrumentation };
    let wanted: Vec<LoadedClass<'_>> = loaded.as_slice().iter().copied().filter(|class| scan.wants(*class)).collect();
    instrumentation.types.all_loaded_are_noted();
    tracing::info!(loaded = loaded.as_slice().len(), wanted = wanted.len(), "classes loaded before the hook");
    retransform_classes(jvmti, jni, instrumentation, &wanted, MayRead::ClassFiles);
}

/// Has the JVM present the loaded classes of these names once more, and returns the names of those that stay as they are: none of a name
/// is retransformed if the JVM cannot retransform one of them.
pub(crate) fn instrument_again(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    instrumentation: &Instrumentation,
    names: &FxHashSet<Arc<[u8]>>,
) -> FxHashSet<Arc<[u8]>> {
    if names.is_empty() {
        return FxHashSet::default();
    }
    let loaded = match LoadedClasses::all(jvmti, jni) {
        Ok(loaded) => loaded,
        Err(error) => {
            tracing::warn!(%error, "the loaded classes cannot be listed; these stay as they are: {names:?}");
            return names.clone();
        }
    };
    // Another loader may have a class of the same name that is not linked yet.
    let is_meant = |class: &LoadedClass<'_>| {
        let name = class.internal_name(jvmti).filter(|name| names.contains(name.as_slice()));
        name.is_some_and(|name| !instrumentation.late.waits_for_linking(jvmti, jni, *class, &name))
    };
    let meant: Vec<LoadedClass<'_>> = loaded.as_slice().iter().copied().filter(is_meant).collect();
    let mut refused = Refused { jvmti, instrumentation, names: FxHashSet::default() };
    let mut safe = refused.safe_among(jni, &meant, MayRead::ClassFiles);
    if !refused.names.is_empty() {
        safe.retain(|class| class.internal_name(jvmti).is_some_and(|name| !refused.names.contains(&*name)));
    }
    refused.retransform(&safe);
    refused.names
}

struct Scan<'a> {
    jvmti: Jvmti,
    jni: &'a Jni<'a>,
    instrumentation: &'a Instrumentation,
}

impl Scan<'_> {
    /// Whether it is worth to retransform the class. Cheap questions first: there are hundreds of classes at start-up, and
    /// thousands when attaching.
    fn wants(&self, class: LoadedClass<'_>) -> bool {
        let rules = &self.instrumentation.setup.rules;
        if rules.needs_hierarchy()
            && let Some(name) = class.internal_name(self.jvmti)
        {
            self.instrumentation.types.note_loaded(&name);
        }
        if !rules.may_match_jdk() && class.is_boot(self.jvmti, self.jni) {
            return false;
        }
        let Some(name) = class.internal_name(self.jvmti) else { return false };
        if !rules.wants_name(&name) || !class.is_modifiable(self.jvmti) {
            return false;
        }
        if self.shipped_class_is_unwanted(class, &name) {
            return false;
        }
        !self.instrumentation.late.waits_for_linking(self.jvmti, self.jni, class, &name)
    }

    /// A class of the JDK can be decided by its file, which is far cheaper than retransforming it for nothing, or only to learn
    /// that it is too late for a wrapper.
    fn shipped_class_is_unwanted(&self, loaded: LoadedClass<'_>, name: &[u8]) -> bool {
        let types = &self.instrumentation.types;
        let Some(bytes) = types.jdk_class(name) else { return false };
        let Ok(class) = ClassFile::parse(&bytes) else { return false };
        let never = |class: &[u8], method: &[u8], descriptor: &[u8]| {
            self.instrumentation.is_untouchable(class, method, descriptor)
        };
        let decision = self.instrumentation.setup.rules.decide(&class, &LoaderView::of_boot(types), &never);
        let loader = || loaded.with_loader(self.jvmti, self.jni, |loader| self.jvmti.identity_hash(loader));
        let wrapped = &self.instrumentation.wrapped;
        let wrapped = if wrapped.is_empty() { None } else { wrapped.of_class(name, loader()) };
        let plan = ClassPlan::new(&class, &decision, &Coming::Again(wrapped));
        let unwanted = plan.methods.is_empty() && decision.unresolved.is_empty();
        if unwanted {
            self.instrumentation.statistics.refuse_methods(&class, &plan.refused);
        }
        unwanted
    }
}

/// Classes retransformed at once. At start-up this is all of them; a larger batch of an application that runs is not cheaper per
/// class, but stops it for longer.
const BATCH: usize = 1000;

/// Whether loaders may be asked for files of classes that the JVM has damaged.
#[derive(Debug, Clone, Copy)]
pub(crate) enum MayRead {
    ClassFiles,
    /// A class is being linked, which others may wait for: no time for Java code of a loader.
    Nothing,
}

/// Retransforms the classes in as few batches as is sensible, leaving out those that the JVM cannot retransform safely, and counts those that
/// it rejects.
pub(crate) fn retransform_classes(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    instrumentation: &Instrumentation,
    classes: &[LoadedClass<'_>],
    may_read: MayRead,
) {
    let mut refused = Refused { jvmti, instrumentation, names: FxHashSet::default() };
    let safe = refused.safe_among(jni, classes, may_read);
    refused.retransform(&safe);
}

/// Classes that are not retransformed, by their internal names. Each is counted.
struct Refused<'a> {
    jvmti: Jvmti,
    instrumentation: &'a Instrumentation,
    names: FxHashSet<Arc<[u8]>>,
}

impl Refused<'_> {
    fn add(&mut self, class: LoadedClass<'_>, key: &str, reason: String) {
        let name = class.internal_name(self.jvmti).unwrap_or_default();
        let class = String::from_utf8_lossy(&name).into_owned();
        self.instrumentation.statistics.refuse(key, RefusedMethod { class, method: String::new(), reason });
        self.names.insert(name.into());
    }

    /// Returns the classes that the JVM can retransform safely.
    fn safe_among<'jni>(
        &mut self,
        jni: &Jni<'_>,
        classes: &[LoadedClass<'jni>],
        may_read: MayRead,
    ) -> Vec<LoadedClass<'jni>> {
        let mut safe = Vec::with_capacity(classes.len());
        let types = matches!(may_read, MayRead::ClassFiles).then_some(&self.instrumentation.types);
        for class in classes {
            match SAFE_RETRANSFORMS.hazard(self.jvmti, jni, *class, types) {
                Some(hazard) => self.add(*class, hazard.key, hazard.reason.to_owned()),
                None => safe.push(*class),
            }
        }
        safe
    }

    fn retransform(&mut self, classes: &[LoadedClass<'_>]) {
        Statistics::add(&self.instrumentation.statistics.classes_retransformed, classes.len());
        for batch in classes.chunks(BATCH) {
            jvm::retransform(self.jvmti, batch, &mut |class, error| {
                let reason = format!("the JVM rejects the rewritten class: {error}");
                self.add(class, "retransform-rejected", reason);
            });
        }
    }
}
