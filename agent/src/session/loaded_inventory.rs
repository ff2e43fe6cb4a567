//! Loaded classes and what they carry: what `instr inventory PID` lists and `instr explain --live PID` explains.

use control::{ErrorCode, Explained, ExplainedClass, InventoryClass, InventoryDone, Refusal};
use instrument_core::rules::patterns::NameGlob;
use instrument_core::selection::ClassOrigin;
use instrument_core::selection::jdk_packages::is_jdk_class;
use rustc_hash::FxHashMap;

use super::Session;
use crate::classes::hierarchy::{ClassId, class_id};
use crate::desired::generation::Generation;
use crate::jvm::{Jni, LoadedClass, LoadedClasses};
use crate::transform::JvmOrigin;
use crate::transform::inspection::Inspection;

/// Most classes and methods in an answer, unless the request states another number.
const MOST: usize = 50_000;
/// More are never listed at once: the answer is kept in memory until it is sent.
const LIMIT: usize = 1_000_000;

/// Most classes that are explained at once.
const MOST_EXPLAINED: usize = 100;

/// What an inventory lists.
#[derive(Debug)]
pub(super) struct Listed {
    pub(super) classes: Option<NameGlob>,
    pub(super) methods: bool,
    pub(super) jdk: bool,
    pub(super) most: Option<usize>,
}

impl Session {
    /// Returns the entries of the loaded classes by name.
    pub(super) fn loaded_inventory(&self, listed: &Listed) -> Result<(Vec<InventoryClass>, InventoryDone), Refusal> {
        self.with_loaded(|loaded, inspection| {
            let (jvmti, jni, generation) = (inspection.jvmti, inspection.jni, inspection.generation);
            let mut by_name: FxHashMap<Box<[u8]>, Vec<(LoadedClass<'_>, ClassId)>> = FxHashMap::default();
            let is_listed = |name: &[u8]| {
                let is_ours = name.starts_with(b"java/instr/");
                let is_meant = listed.classes.as_ref().is_none_or(|classes| classes.matches(name));
                is_meant && !is_ours && (!is_jdk_class(name) || listed.jdk && generation.wants_name(name))
            };
            for class in loaded {
                let Some(id) = class_id(jvmti, jni, *class).filter(|id| is_listed(&id.0)) else { continue };
                by_name.entry(id.0.clone()).or_default().push((*class, id));
            }
            let mut names: Vec<Box<[u8]>> = by_name.keys().cloned().collect();
            names.sort_unstable();
            let (mut entries, mut lines) = (Vec::with_capacity(names.len()), 0);
            let most = listed.most.unwrap_or(MOST).min(LIMIT);
            for name in &names {
                if lines >= most {
                    break;
                }
                refuse_at_the_end(inspection)?;
                let of_name = by_name.remove(name).unwrap_or_default();
                let Some(entry) = entry(inspection, &of_name, listed.methods) else { continue };
                lines += 1 + entry.listed.len();
                entries.push(entry);
            }
            let left_out = names.len() - entries.len();
            Ok((entries, InventoryDone { done: true, generation: generation.number, left_out }))
        })
    }

    /// Explains the loaded classes of this name or pattern, or a method of theirs.
    pub(super) fn explain_loaded(&self, name: &str) -> Result<Explained, Refusal> {
        let split = name.rsplit_once('.');
        let of_method = split.and_then(|(class, method)| Some((NameGlob::class(class).ok()?, class, method)));
        let whole = match NameGlob::class(name) {
            Ok(whole) => Some(whole),
            // `package.Class.<init>` is no name of a class.
            Err(_) if of_method.is_some() => None,
            Err(error) => return Err(Refusal::from(error.message)),
        };
        self.with_loaded(|loaded, inspection| {
            if let Some(whole) = &whole {
                let found = explained(inspection, loaded, whole, None)?;
                if !found.classes.is_empty() {
                    return Ok(found);
                }
            }
            let not_loaded = || {
                Refusal::new(ErrorCode::UnknownName, format!("no loaded class is named {name}")).help(
                    "it may be loaded later, or the name is wrong; `instr explain --config CONFIG` explains classes of jars",
                )
            };
            let Some((classes, class, method)) = &of_method else { return Err(not_loaded()) };
            let mut found = explained(inspection, loaded, classes, Some(method))?;
            if found.classes.is_empty() {
                return Err(not_loaded());
            }
            let has_method = |class: &ExplainedClass| {
                // Of a class that nobody wants by its name, that is the answer for all its methods.
                class.explanation.as_ref().is_none_or(|explanation| !explanation.methods.is_empty())
            };
            let is_pattern = class.contains('*');
            found.classes.retain(|class| !is_pattern || class.explanation.is_some() && has_method(class));
            if !found.classes.iter().any(has_method) {
                let which = if found.left_out > 0 { format!("none of the first {MOST_EXPLAINED} classes {class} has a method {method}; name fewer") }
                    else { format!("{class} has no method {method}") };
                return Err(Refusal::new(ErrorCode::UnknownName, which));
            }
            Ok(found)
        })
    }

    pub(super) fn with_loaded<R>(
        &self,
        body: impl FnOnce(&[LoadedClass<'_>], &Inspection<'_>) -> Result<R, Refusal>,
    ) -> Result<R, Refusal> {
        // One after the other: each lists all loaded classes and reads files.
        let _one_at_a_time = self.inspecting.lock();
        let generation = self.instrumentation.generation();
        let (probed, waiting) = (self.probed_methods(), self.reconciler.waiting_classes());
        let refused = self.instrumentation.statistics.refused_classes();
        let done = self.vm.with_attached_daemon(c"instr-inventory", |jni| {
            let loaded = LoadedClasses::all(self.jvmti, jni).map_err(|error| Refusal::from(error.to_string()))?;
            let inspection = Inspection {
                jvmti: self.jvmti,
                jni,
                instrumentation: &self.instrumentation,
                generation: &generation,
                probed: &probed,
                waiting: &waiting,
                refused: &refused,
            };
            refuse_at_the_end(&inspection)?;
            body(loaded.as_slice(), &inspection)
        });
        done.unwrap_or_else(|| Err(Refusal::from("the JVM attaches no more threads".to_owned())))
    }
}

/// The end of the JVM, and a detach, wait for no list.
pub(super) fn refuse_at_the_end(inspection: &Inspection<'_>) -> Result<(), Refusal> {
    if inspection.instrumentation.is_leaving() {
        return Err(Refusal::new(ErrorCode::Ended, "the recording ends".to_owned()));
    }
    Ok(())
}

/// Returns the entry of one of the classes of a name: of the first that is instrumented, if there is any.
fn entry(
    inspection: &Inspection<'_>,
    of_name: &[(LoadedClass<'_>, ClassId)],
    with_methods: bool,
) -> Option<InventoryClass> {
    let rewritten = &inspection.instrumentation.rewritten;
    let (class, id) = of_name.iter().find(|(_, id)| rewritten.has(&id.0, id.1)).or_else(|| of_name.first())?;
    let (entry, _) = inspection.of_class(*class, id, with_methods);
    Some(InventoryClass { loaders: (of_name.len() > 1).then_some(of_name.len()), ..entry })
}

fn explained(
    inspection: &Inspection<'_>,
    loaded: &[LoadedClass<'_>],
    names: &NameGlob,
    method: Option<&str>,
) -> Result<Explained, Refusal> {
    let (jvmti, jni) = (inspection.jvmti, inspection.jni);
    let ids = loaded.iter().filter_map(|class| Some((*class, class_id(jvmti, jni, *class)?)));
    let mut meant: Vec<(LoadedClass<'_>, ClassId)> = ids.filter(|(_, id)| names.matches(&id.0)).collect();
    meant.sort_by(|(_, a), (_, b)| a.0.cmp(&b.0));
    let left_out = meant.len().saturating_sub(MOST_EXPLAINED);
    meant.truncate(MOST_EXPLAINED);
    let mut classes = Vec::with_capacity(meant.len());
    for (class, id) in meant {
        refuse_at_the_end(inspection)?;
        classes.push(one_explained(inspection, inspection.generation, jni, class, &id, method));
    }
    Ok(Explained { classes, left_out })
}

fn one_explained(
    inspection: &Inspection<'_>,
    generation: &Generation,
    jni: &Jni<'_>,
    class: LoadedClass<'_>,
    id: &ClassId,
    method: Option<&str>,
) -> ExplainedClass {
    let jvmti = inspection.jvmti;
    let (mut now, mut explanation) = inspection.of_class(class, id, true);
    inspection.add_present_levels(&mut now);
    if let Some(method) = method {
        now.listed.retain(|listed| listed.name == method);
        if let Some(explanation) = &mut explanation {
            explanation.methods.retain(|explained| explained.name == method);
        }
    }
    let loader = class.with_loader(jvmti, jni, |loader| {
        let origin = JvmOrigin { jvmti, jni, name: Some(&id.0), loader, protection_domain: None };
        origin.loader().unwrap_or_default().join(", ")
    });
    ExplainedClass { loader, generation: generation.number, now, explanation }
}
