//! Which loaded classes are presented to the class hook.

use std::sync::Arc;

use classfile::ClassFile;
use instrument_core::selection::ClassContext;
use rustc_hash::FxHashSet;

use super::retransforming::{MayRead, Refused};
use crate::hierarchy::LoaderView;
use crate::instrumentation::Instrumentation;
use crate::jvm::{Jni, Jvmti, LoadedClass};
use crate::transform::{ClassPlan, Coming, JvmOrigin};

/// Returns the loaded classes that a rule may want.
pub(super) fn wanted<'jni>(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    instrumentation: &Instrumentation,
    loaded: &[LoadedClass<'jni>],
) -> Vec<LoadedClass<'jni>> {
    let scan = Scan { jvmti, jni, instrumentation };
    let wanted: Vec<LoadedClass<'_>> = loaded.iter().copied().filter(|class| scan.wants(*class)).collect();
    instrumentation.types.all_loaded_are_noted();
    tracing::info!(loaded = loaded.len(), wanted = wanted.len(), "classes loaded before the hook");
    wanted
}

/// Returns the loaded classes of these names that can be retransformed: none of a name of which one cannot.
pub(super) fn safe_of_names<'jni>(
    jni: &Jni<'_>,
    refused: &mut Refused<'_>,
    loaded: &[LoadedClass<'jni>],
    names: &FxHashSet<Arc<[u8]>>,
) -> Vec<LoadedClass<'jni>> {
    let (jvmti, late) = (refused.jvmti, &refused.instrumentation.late);
    // Another loader may have a class of the same name that is not linked yet.
    let is_meant = |class: &LoadedClass<'_>| {
        let name = class.internal_name(jvmti).filter(|name| names.contains(name.as_slice()));
        name.is_some_and(|name| !late.waits_for_linking(jvmti, jni, *class, &name))
    };
    let meant: Vec<LoadedClass<'_>> = loaded.iter().copied().filter(is_meant).collect();
    let mut safe = refused.safe_among(jni, &meant, MayRead::ClassFiles);
    if !refused.names.is_empty() {
        safe.retain(|class| class.internal_name(jvmti).is_some_and(|name| !refused.names.contains(&*name)));
    }
    safe
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
        let decision = loaded.with_loader(self.jvmti, self.jni, |loader| {
            let (jvmti, jni, name) = (self.jvmti, self.jni, Some(name));
            let origin = JvmOrigin { jvmti, jni, name, loader, protection_domain: None };
            let reach = Some(&self.instrumentation.reach);
            let context =
                ClassContext { hierarchy: &LoaderView::of_boot(types), origin: &origin, never: &never, reach };
            self.instrumentation.setup.rules.decide(&class, &context)
        });
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
