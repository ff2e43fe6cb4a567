//! What a loaded class carries, and why not more: decided again by its file, without presenting the class to the class hook. Nothing changes.

use std::collections::{BTreeMap, BTreeSet};

use classfile::ClassFile;
use control::{InventoryClass, LeftAlone};
use instrument_core::internal_name::to_source;
use instrument_core::level::Level;
use instrument_core::selection::{
    ClassContext, ClassExplanation, ClassOrigin, Instrumentation as Taken, MethodDecision, NoFactsYet, SkipReason,
};
use instrument_core::template::Template;
use rustc_hash::FxHashMap;

use super::class_load_hook::refusals;
use super::class_origin::JvmOrigin;
use super::class_plan::{ClassPlan, Coming};
use super::instrumentation::Instrumentation;
use super::wishes::{self, Decided};
use crate::classes::hierarchy::{ClassId, LoaderView};
use crate::classes::safe_retransforms::SAFE_RETRANSFORMS;
use crate::desired::generation::Generation;
use crate::jvm::{Jni, Jvmti, LoadedClass, read_class_resource, with_protection_domain};

/// Name and descriptor of a method.
pub(crate) type NameAndDescriptor = (String, String);

/// The methods that carry probes by the name of their class in source form.
#[derive(Debug, Default)]
pub(crate) struct ProbedMethods {
    pub(crate) by_class: FxHashMap<String, FxHashMap<NameAndDescriptor, ProbedMethod>>,
}

/// A method that carries probes.
#[derive(Debug)]
pub(crate) struct ProbedMethod {
    /// The present level.
    pub(crate) level: Level,
    /// Calls that its probes have recorded, all together; `None` if calls are not counted.
    pub(crate) recorded: Option<u64>,
    /// Rules and claims.
    pub(crate) wanted_by: BTreeSet<String>,
}

/// Looks at loaded classes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Inspection<'a> {
    pub(crate) jvmti: Jvmti,
    pub(crate) jni: &'a Jni<'a>,
    pub(crate) instrumentation: &'a Instrumentation,
    pub(crate) generation: &'a Generation,
    pub(crate) probed: &'a ProbedMethods,
    /// Classes that wait for their probes, with the reason.
    pub(crate) waiting: &'a FxHashMap<ClassId, String>,
    /// Classes that were refused as a whole, with the reason.
    pub(crate) refused: &'a FxHashMap<String, String>,
}

impl Inspection<'_> {
    /// Returns the entry of a class in an inventory, and what each rule answers to it if its file can be read and some rule or claim may want it.
    pub(crate) fn of_class(
        &self,
        class: LoadedClass<'_>,
        id: &ClassId,
        with_methods: bool,
    ) -> (InventoryClass, Option<ClassExplanation>) {
        let name = to_source(&id.0);
        let has_probes = self.carries_probes(id);
        if let Some(reason) = self.generation.rules().unwanted(&id.0)
            && !self.generation.is_claimed(&id.0)
            && !self.generation.delegates.has(&id.0)
            && !has_probes
        {
            let jar = self.jar_of(class, id);
            return (InventoryClass::unchanged(name, jar, LeftAlone::of_class(reason)), None);
        }
        let file = self.file_of(class, &id.0);
        let file = file.as_deref().and_then(|bytes| ClassFile::parse(bytes).ok());
        match file.filter(|file| *file.this_class().as_bytes() == *id.0) {
            Some(file) => {
                let (entry, explanation) = self.of_file(class, id, &file, with_methods);
                (entry, Some(explanation))
            }
            None => (self.without_file(class, id, name), None),
        }
    }

    /// Notes the present levels of methods that are at another level than is wanted of them.
    pub(crate) fn add_present_levels(&self, entry: &mut InventoryClass) {
        let Some(probed) = self.probed.by_class.get(&entry.class) else { return };
        for method in entry.listed.iter_mut().filter(|method| method.is_instrumented()) {
            let level = probed.get(&(method.name.clone(), method.descriptor.clone())).map(|probed| probed.level.name());
            method.present_level = level.filter(|level| method.level.as_deref() != Some(*level)).map(str::to_owned);
        }
    }

    /// Whether the class was handed back with probes, some of which are wanted still.
    fn carries_probes(&self, id: &ClassId) -> bool {
        self.instrumentation.rewritten.has(&id.0, id.1) && self.probed.by_class.contains_key(&to_source(&id.0))
    }

    /// Whether the method carries a probe. Classes that are generated again and again share the names of their probes: of these all do that are
    /// to have one.
    fn carries_probe(&self, id: &ClassId, name: &str, descriptor: &str) -> bool {
        let of_class = self.probed.by_class.get(&to_source(&id.0));
        let has = of_class.is_none_or(|methods| methods.contains_key(&(name.to_owned(), descriptor.to_owned())));
        has && self.instrumentation.rewritten.has(&id.0, id.1)
    }

    /// Returns the file of a class as its loader finds it now.
    fn file_of(&self, class: LoadedClass<'_>, name: &[u8]) -> Option<Vec<u8>> {
        let of_loader = class.with_loader(self.jvmti, self.jni, |loader| read_class_resource(self.jni, loader?, name));
        of_loader.or_else(|| self.generation.types.jdk_class(name))
    }

    /// Returns the name of the jar or directory that the class was loaded from.
    fn jar_of(&self, class: LoadedClass<'_>, id: &ClassId) -> Option<String> {
        let Inspection { jvmti, jni, .. } = *self;
        with_protection_domain(jni, class, |protection_domain| {
            JvmOrigin { jvmti, jni, name: Some(&id.0), loader: None, protection_domain }.jar().ok()
        })
    }

    fn without_file(&self, class: LoadedClass<'_>, id: &ClassId, name: String) -> InventoryClass {
        let of_class = self.probed.by_class.get(&name).filter(|_| self.carries_probes(id));
        let jar = self.jar_of(class, id);
        // What else keeps probes out says nothing, as it is unknown whether they are wanted.
        if of_class.is_none()
            && let Some(why) = self.delay(class, id)
        {
            return InventoryClass::unchanged(name, jar, why);
        }
        let wanted_by = of_class.into_iter().flat_map(FxHashMap::values).flat_map(|method| &method.wanted_by).cloned();
        InventoryClass::without_file(name, jar, of_class.map_or(0, FxHashMap::len), wanted_by.collect())
    }

    fn of_file(
        &self,
        class: LoadedClass<'_>,
        id: &ClassId,
        file: &ClassFile<'_>,
        with_methods: bool,
    ) -> (InventoryClass, ClassExplanation) {
        let Inspection { jvmti, jni, instrumentation, generation, .. } = *self;
        let never =
            |class: &[u8], method: &[u8], descriptor: &[u8]| generation.is_untouchable(class, method, descriptor);
        class.with_loader(jvmti, jni, |loader| {
            with_protection_domain(jni, class, |protection_domain| {
                let origin = JvmOrigin { jvmti, jni, name: Some(&id.0), loader, protection_domain };
                let hierarchy =
                    LoaderView::of_loaded_class(&generation.types, id.1, loader.map(|loader| (jvmti, jni, loader)));
                let delegates = generation.delegates.of_class(&id.0);
                let context = ClassContext {
                    hierarchy: &hierarchy,
                    origin: &origin,
                    facts: &NoFactsYet,
                    never: &never,
                    delegates: &delegates,
                    reach: None,
                };
                let explanation = generation.rules().explain(file, &context);
                let coming = Coming::Again(instrumentation.wrapped.of_class(&id.0, id.1));
                let decided = wishes::decide(instrumentation, generation, (file, id.1), &context, &coming);
                let plan = ClassPlan::new(file, &decided.decision, &coming);
                let mut now = explanation.clone();
                self.add_claims(&mut now, &decided);
                let left_alone = self.left_alone(class, id, (file, &decided, &plan), &now);
                let jar = origin.jar().ok();
                (InventoryClass::of(&now, jar, &left_alone, with_methods), explanation)
            })
        })
    }

    /// Replaces what the rules want of methods by what persons' claims decide about them. A method that a claim names and cannot take is refused.
    fn add_claims(&self, explanation: &mut ClassExplanation, decided: &Decided) {
        let templates = self.generation.templates();
        for (index, (method, decision)) in explanation.methods.iter_mut().zip(&decided.decision.methods).enumerate() {
            if decided.left_out_by_claim(index).is_some() && method.instrumented.is_none() {
                method.skipped = None;
            }
            let (MethodDecision::Chosen(chosen), Some(claim)) = (decision, decided.claim_of(index)) else { continue };
            method.skipped = None;
            method.instrumented = Some(Taken {
                rule: format!("claim {claim}"),
                templates: decided.template_names(templates, index, &chosen.templates),
                level: chosen.level,
                mode: chosen.mode,
                captured: Vec::new(),
                not_captured: Vec::new(),
            });
        }
    }

    /// Returns why methods that are wanted carry no probe, by their position.
    fn left_alone(
        &self,
        class: LoadedClass<'_>,
        id: &ClassId,
        (file, decided, plan): (&ClassFile<'_>, &Decided, &ClassPlan),
        explanation: &ClassExplanation,
    ) -> BTreeMap<usize, LeftAlone> {
        let mut left_alone = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for (index, method) in explanation.methods.iter().enumerate() {
            let is_suppressed = matches!(
                decided.decision.methods.get(index),
                Some(MethodDecision::Chosen(chosen)) if chosen.templates.is_empty()
            );
            if method.instrumented.is_none() {
                let left_out = decided.left_out_by_claim(index);
                left_alone.extend(left_out.map(|(claim, reason)| (index, left_out_by(claim, reason))));
                continue;
            }
            let is_done = match self.records(decided.decision.methods.get(index)) {
                true => self.carries_probe(id, &method.name, &method.descriptor),
                false => self.instrumentation.rewritten.has(&id.0, id.1),
            };
            if is_suppressed {
                let reason = "the governor has removed the probe, as it costs too much; `instr level` inserts it again";
                left_alone.insert(index, LeftAlone::new("suppressed", reason));
            } else if !is_done {
                missing.insert(index);
            }
        }
        if missing.is_empty() {
            return left_alone;
        }
        if explanation.instrumented_ahead.is_some() {
            let reason = "`instr pre` instrumented the class without this method, and the agent adds no probes to it";
            let why = LeftAlone::new("instrumented-ahead", reason);
            left_alone.extend(missing.into_iter().map(|index| (index, why.clone())));
            return left_alone;
        }
        let (refused, obstacle) = (refusals(self.generation, file, plan), self.obstacle(class, id));
        for index in missing {
            let why = refused.get(&index).or(obstacle.as_ref()).cloned();
            let unknown = || LeftAlone::new("not-inserted", "wanted, but not inserted yet");
            left_alone.insert(index, why.unwrap_or_else(unknown));
        }
        left_alone
    }

    /// Whether the templates of a method have a probe: some only prepare what others record.
    fn records(&self, decision: Option<&MethodDecision>) -> bool {
        let Some(MethodDecision::Chosen(chosen)) = decision else { return false };
        let mut templates = chosen.templates.iter().filter_map(|id| self.generation.templates().get(*id));
        templates.any(Template::records)
    }

    /// Returns why something is inserted into the class later only, if there is a reason.
    fn delay(&self, class: LoadedClass<'_>, id: &ClassId) -> Option<LeftAlone> {
        if let Some(reason) = self.waiting.get(id) {
            return Some(LeftAlone::new("waits", reason.as_str()));
        }
        let reason = "the class is not linked yet: it gets its probes when it is";
        (!class.is_prepared(self.jvmti)).then(|| LeftAlone::new("not-linked", reason))
    }

    /// Returns why nothing can be inserted into the class at present, if there is a reason.
    pub(crate) fn obstacle(&self, class: LoadedClass<'_>, id: &ClassId) -> Option<LeftAlone> {
        let Inspection { jvmti, jni, .. } = *self;
        let in_constants = || {
            let hazard = SAFE_RETRANSFORMS.hazard(jvmti, jni, class, Some(&self.generation.types))?;
            Some(LeftAlone::new(hazard.key, format!("refused: {}", hazard.reason)))
        };
        self.obstacle_besides_constants(class, id).or_else(in_constants)
    }

    /// The same without a look at the constants of the class, of which the JVM would make copies.
    pub(crate) fn obstacle_besides_constants(&self, class: LoadedClass<'_>, id: &ClassId) -> Option<LeftAlone> {
        if let Some(why) = self.delay(class, id) {
            return Some(why);
        }
        if !class.is_modifiable(self.jvmti) {
            return Some(LeftAlone::new("not-modifiable", "the JVM allows nobody to change this class"));
        }
        let refused = self.refused.get(&to_source(&id.0))?;
        Some(LeftAlone::new("refused", format!("refused: {refused}")))
    }
}

fn left_out_by(claim: u32, reason: SkipReason) -> LeftAlone {
    let why = match reason {
        // The texts for rules name keys that claims do not have.
        SkipReason::Bridge => "a bridge only forwards".to_owned(),
        SkipReason::ClassInitialiser => "only rules take class initialisers".to_owned(),
        other => other.to_string(),
    };
    LeftAlone::new(reason.key(), format!("claim {claim} leaves it out: {why}"))
}
