//! Which loaded classes are presented to the class hook.

use std::sync::Arc;

use classfile::{ClassFile, HeadMemory};
use instrument_core::selection::{ClassContext, FactSource, NoFactsYet};
use rustc_hash::FxHashSet;

use super::loaded_head::LoadedHead;
use super::retransforming::Retransforming;
use crate::classes::hierarchy::{ClassId, LoaderView, class_id};
use crate::classes::known_facts::FactsOfLoader;
use crate::desired::RequestedProbes;
use crate::desired::generation::Generation;
use crate::jvm::{Jni, Jvmti, LoadedClass, methods_of, with_protection_domain};
use crate::statistics::Statistics;
use crate::transform::instrumentation::Instrumentation;
use crate::transform::{ClassPlan, Coming, JvmOrigin};

/// Returns the loaded classes that a rule may want.
pub(super) fn wanted<'jni>(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    instrumentation: &Instrumentation,
    loaded: &[LoadedClass<'jni>],
) -> Vec<LoadedClass<'jni>> {
    let generation = instrumentation.generation();
    let scan = Scan { jvmti, jni, instrumentation, generation: &generation };
    scan.learn_super_types(loaded);
    let wanted: Vec<LoadedClass<'_>> = loaded.iter().copied().filter(|class| scan.wants(*class)).collect();
    generation.types.all_loaded_are_noted();
    tracing::info!(loaded = loaded.len(), wanted = wanted.len(), "classes loaded before the hook");
    wanted
}

/// Returns the names of the loaded classes in which a claim takes methods, those of its context included.
pub(super) fn claimed_names(
    jvmti: Jvmti,
    loaded: &[LoadedClass<'_>],
    probes: &RequestedProbes,
) -> FxHashSet<Arc<[u8]>> {
    let is_meant = |class: &LoadedClass<'_>, name: &[u8]| {
        let text = String::from_utf8_lossy(name);
        let mut patterns = probes.patterns().filter(|pattern| pattern.may_be_in(&text)).peekable();
        if patterns.peek().is_none() || !class.is_modifiable(jvmti) {
            return false;
        }
        // The methods of a class that is not linked yet are unknown.
        !class.is_prepared(jvmti) || {
            let methods = methods_of(jvmti, *class);
            patterns.any(|pattern| pattern.count_among(name, &methods) > 0)
        }
    };
    let name = |class: &LoadedClass<'_>| class.internal_name(jvmti).filter(|name| is_meant(class, name));
    loaded.iter().filter_map(name).map(Into::into).collect()
}

/// Returns the loaded classes of these names that can be retransformed now and were not: none of a name of which one cannot.
pub(super) fn ready_of_names<'jni>(
    jni: &Jni<'_>,
    retransforming: &mut Retransforming<'_>,
    loaded: &[LoadedClass<'jni>],
    names: &FxHashSet<Arc<[u8]>>,
) -> Vec<LoadedClass<'jni>> {
    let jvmti = retransforming.jvmti;
    let name_in = |class: &LoadedClass<'_>, names: &FxHashSet<Arc<[u8]>>| {
        class.internal_name(jvmti).is_some_and(|name| names.contains(name.as_slice()))
    };
    let is_meant = |class: &LoadedClass<'_>| {
        name_in(class, names) && !name_in(class, &retransforming.refused) && !retransforming.is_done(jni, *class)
    };
    let meant: Vec<LoadedClass<'_>> = loaded.iter().copied().filter(is_meant).collect();
    let mut ready = retransforming.ready_among(jni, &meant);
    ready.retain(|class| !name_in(class, &retransforming.refused));
    ready
}

/// Loaded classes of which something else is wanted than by the generation before.
pub(super) struct Replan<'a> {
    scan: Scan<'a>,
    before: &'a Generation,
    seen: FxHashSet<ClassId>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Differing<'jni> {
    /// Classes of which something else is wanted.
    pub(super) wanted: Vec<LoadedClass<'jni>>,
    /// Classes of which nothing is wanted any more.
    pub(super) unwanted: Vec<LoadedClass<'jni>>,
}

impl<'a> Replan<'a> {
    /// For the present generation in comparison with this one.
    pub(super) fn new(
        jvmti: Jvmti,
        jni: &'a Jni<'a>,
        (instrumentation, now): (&'a Instrumentation, &'a Generation),
        before: &'a Generation,
    ) -> Replan<'a> {
        let scan = Scan { jvmti, jni, instrumentation, generation: now };
        Replan { scan, before, seen: FxHashSet::default() }
    }

    /// Returns those of the loaded classes that differ and were not returned before.
    pub(super) fn differing<'jni>(&mut self, loaded: &[LoadedClass<'jni>]) -> Differing<'jni> {
        let Scan { jvmti, jni, instrumentation, generation } = self.scan;
        let (before, now) = (self.before.rules().digests(), generation.rules().digests());
        let (claims_before, claims_now) = (self.before.claim_digests(), generation.claim_digests());
        let is_marked = |name: &[u8]| generation.delegates.has(name) || self.before.delegates.has(name);
        self.scan.mark_delegates(loaded);
        if !generation.types.loaded_are_noted() {
            self.scan.learn_super_types(loaded);
        }
        let mut differing = Differing::default();
        for class in loaded {
            let Some(id) = class_id(jvmti, jni, *class) else { continue };
            if generation.rules().needs_hierarchy() {
                generation.types.note_loaded(&id.0);
            }
            let (wanted_before, wanted_now) = (before.of(&id.0), now.of(&id.0));
            let claims = claims_now.of(&id.0);
            let claims_differ = claims != claims_before.of(&id.0);
            let may_differ = claims_differ || wanted_before != wanted_now || is_marked(&id.0);
            if !may_differ || !self.seen.insert(id.clone()) {
                continue;
            }
            generation.delegates.note_decided(&id.0);
            let known = self.scan.known_plan(*class, &id);
            if matches!(known, Some(KnownPlan::InForce)) && !claims_differ {
                continue;
            }
            instrumentation.facts.note_decision(&id.0, id.1, None);
            let is_rewritten = instrumentation.rewritten.has(&id.0, id.1);
            let is_unwanted = claims.is_empty()
                && (matches!(known, Some(KnownPlan::Nothing))
                    || wanted_now.is_none() && !generation.delegates.has(&id.0));
            if is_rewritten && is_unwanted {
                differing.unwanted.push(*class);
            } else if is_rewritten || !is_unwanted && self.scan.wants(*class) {
                differing.wanted.push(*class);
            }
        }
        generation.types.all_loaded_are_noted();
        differing
    }
}

/// What the rules want of a class that was analysed before.
enum KnownPlan {
    /// The same as what was decided last.
    InForce,
    /// Nothing.
    Nothing,
    Something,
}

#[derive(Clone, Copy)]
struct Scan<'a> {
    jvmti: Jvmti,
    jni: &'a Jni<'a>,
    instrumentation: &'a Instrumentation,
    generation: &'a Generation,
}

impl Scan<'_> {
    /// Whether it is worth to retransform the class. Cheap questions first: there are hundreds of classes at start-up, and
    /// thousands when attaching.
    fn wants(&self, class: LoadedClass<'_>) -> bool {
        let rules = self.generation.rules();
        if rules.needs_hierarchy()
            && let Some(name) = class.internal_name(self.jvmti)
        {
            self.generation.types.note_loaded(&name);
        }
        if !self.generation.may_match_jdk() && class.is_boot(self.jvmti, self.jni) {
            return false;
        }
        let Some(name) = class.internal_name(self.jvmti) else { return false };
        if !self.generation.wants_name(&name) || !class.is_modifiable(self.jvmti) {
            return false;
        }
        let is_examined = self.generation.is_claimed(&name) || self.generation.delegates.has(&name);
        is_examined || self.may_take(class, &name) && !self.shipped_class_is_unwanted(class, &name)
    }

    /// Notes the super types of loaded classes, before any of them is asked about those of another one.
    fn learn_super_types(&self, loaded: &[LoadedClass<'_>]) {
        if !self.generation.rules().needs_hierarchy() {
            return;
        }
        for class in loaded.iter().filter(|class| !class.is_boot(self.jvmti, self.jni)) {
            if let Some((name, loader)) = class_id(self.jvmti, self.jni, *class)
                && let Some(head) = LoadedHead::of(self.jvmti, self.jni, *class, &name)
            {
                self.generation.types.learn_loaded(&name, loader, head.super_types());
            }
        }
    }

    /// Returns false only if no rule can want a method of the class, by what the JVM knows about it: its super types, and the annotations that its
    /// constants name. A class that is retransformed for nothing loses its compiled code, and in a large application that would be nearly all classes.
    fn may_take(&self, class: LoadedClass<'_>, name: &[u8]) -> bool {
        let head = || LoadedHead::of(self.jvmti, self.jni, class, name)?.bytes(&class.constant_pool(self.jvmti)?);
        let Some(head) = head() else { return true };
        let (rules, mut memory) = (self.generation.rules(), HeadMemory::default());
        let Ok(look) = rules.first_look(&head, &mut memory) else { return true };
        let loader = class.with_loader(self.jvmti, self.jni, |loader| self.jvmti.loader_id(loader));
        let view = LoaderView::of_loaded(&self.generation.types, loader);
        let may_take = self.in_context(class, name, &view, &NoFactsYet, |context| rules.may_take(&look, context));
        Statistics::add(&self.instrumentation.statistics.classes_unmatched, usize::from(!may_take));
        may_take
    }

    /// Decides about a class from its facts; `None` if they are not known, or not enough.
    fn known_plan(&self, loaded: LoadedClass<'_>, (name, loader): &ClassId) -> Option<KnownPlan> {
        let (facts, in_force) = self.instrumentation.facts.of_loaded(name, *loader)?;
        let view = LoaderView::of_loaded(&self.generation.types, *loader);
        let decision = self.in_context(loaded, name, &view, &NoFactsYet, |context| {
            self.generation.rules().decide_known(&facts, context)
        });
        let wanted = self.generation.rules().effect(&decision)?;
        let wants_nothing = decision.chosen().next().is_none();
        match in_force {
            Some(in_force) if in_force == wanted => Some(KnownPlan::InForce),
            _ if wants_nothing => Some(KnownPlan::Nothing),
            _ => Some(KnownPlan::Something),
        }
    }

    /// Finds the delegates of the methods of loaded classes that were analysed before.
    fn mark_delegates(&self, loaded: &[LoadedClass<'_>]) {
        if !self.generation.rules().takes_delegates() {
            return;
        }
        for class in loaded {
            let Some((name, loader)) = class_id(self.jvmti, self.jni, *class) else { continue };
            if !self.generation.rules().wants_name(&name) {
                continue;
            }
            let known = self.instrumentation.facts.of_loaded(&name, loader);
            let Some((facts, _)) = known.filter(|(facts, _)| facts.has_delegates()) else { continue };
            let view = LoaderView::of_loaded(&self.generation.types, loader);
            let decision = self.in_context(*class, &name, &view, &NoFactsYet, |context| {
                self.generation.rules().decide_known(&facts, context)
            });
            self.generation.delegates.add(&name, &decision.delegates);
        }
    }

    /// Hands a loaded class's surroundings to a decision.
    fn in_context<D>(
        &self,
        loaded: LoadedClass<'_>,
        name: &[u8],
        hierarchy: &LoaderView<'_>,
        facts: &dyn FactSource,
        decide: impl FnOnce(&ClassContext<'_>) -> D,
    ) -> D {
        let never =
            |class: &[u8], method: &[u8], descriptor: &[u8]| self.generation.is_untouchable(class, method, descriptor);
        loaded.with_loader(self.jvmti, self.jni, |loader| {
            with_protection_domain(self.jni, loaded, |protection_domain| {
                let (jvmti, jni) = (self.jvmti, self.jni);
                let origin = JvmOrigin { jvmti, jni, name: Some(name), loader, protection_domain };
                let reach = Some(&*self.generation.reach);
                let delegates = &*self.generation.delegates.of_class(name);
                decide(&ClassContext { hierarchy, origin: &origin, facts, never: &never, delegates, reach })
            })
        })
    }

    /// A class of the JDK can be decided by its file, which is far cheaper than retransforming it for nothing, or only to learn
    /// that it is too late for a wrapper.
    fn shipped_class_is_unwanted(&self, loaded: LoadedClass<'_>, name: &[u8]) -> bool {
        let types = &self.generation.types;
        let Some(bytes) = types.jdk_class(name) else { return false };
        let Ok(class) = ClassFile::parse(&bytes) else { return false };
        let loader = loaded.with_loader(self.jvmti, self.jni, |loader| self.jvmti.loader_id(loader));
        let facts = FactsOfLoader { known: &self.instrumentation.facts, loader };
        let decision = self.in_context(loaded, name, &LoaderView::of_boot(types), &facts, |context| {
            self.generation.rules().decide(&class, context)
        });
        let wrapped = &self.instrumentation.wrapped;
        let wrapped = if wrapped.is_empty() { None } else { wrapped.of_class(name, loader) };
        let plan = ClassPlan::new(&class, &decision, &Coming::Again(wrapped));
        let unwanted = plan.methods.is_empty() && decision.unresolved.is_empty();
        if unwanted {
            self.instrumentation.statistics.refuse_methods(&class, &plan.refused);
        }
        unwanted
    }
}
