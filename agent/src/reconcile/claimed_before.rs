//! Claims on methods that have the probe already: its level is set, and no class is retransformed.

use std::sync::Arc;

use classfile::access;
use rustc_hash::FxHashSet;

use crate::classes::hierarchy::class_id;
use crate::desired::RequestedProbes;
use crate::jvm::{Jni, Jvmti, LoadedClass, MethodNames, methods_of};
use crate::transform::instrumentation::Instrumentation;

/// The probe of a method, and whether the claim is about it rather than about another one of the method.
type Probe = (u32, bool);

/// Has a claim want the probes of those classes in which it takes methods that have its probe, all of them and each with live probes only. Returns
/// the names of the other classes.
pub(super) fn claim_present(
    (jvmti, jni, instrumentation): (Jvmti, &Jni<'_>, &Instrumentation),
    loaded: &[LoadedClass<'_>],
    mut names: FxHashSet<Arc<[u8]>>,
    (claim, wanted): (u32, &RequestedProbes),
) -> FxHashSet<Arc<[u8]>> {
    let mut present: Vec<(Arc<[u8]>, Vec<Probe>)> = Vec::new();
    let mut missing = FxHashSet::default();
    for class in loaded {
        let Some((name, loader)) = class_id(jvmti, jni, *class) else { continue };
        let Some(name) = names.get(&*name).cloned() else { continue };
        let has_probes = class.is_prepared(jvmti) && instrumentation.rewritten.has(&name, loader);
        match has_probes.then(|| probes_of(instrumentation, &name, &methods_of(jvmti, *class), wanted)).flatten() {
            Some(probes) => present.push((name, probes)),
            None => _ = missing.insert(name),
        }
    }
    for (name, probes) in present.into_iter().filter(|(name, _)| !missing.contains(name)) {
        let claim_live = |(probe, is_meant)| instrumentation.claim_live(probe, (claim, wanted.level, is_meant));
        probes.into_iter().for_each(claim_live);
        names.remove(&name);
    }
    names
}

/// Returns the probes of the methods that are wanted; `None` if one has none of this template, or one whose level cannot change.
fn probes_of(
    instrumentation: &Instrumentation,
    class: &[u8],
    methods: &[MethodNames],
    wanted: &RequestedProbes,
) -> Option<Vec<Probe>> {
    let of_class = instrumentation.probes.of_class(class);
    let mut found = Vec::new();
    let has_code = |method: &&MethodNames| method.access_flags & (access::ABSTRACT | access::NATIVE) == 0;
    for method in methods.iter().filter(|method| wanted.takes_of(class, method)).filter(has_code) {
        let is_of = |known: &records::probe_registry::KnownProbe| {
            let (_, name, descriptor) = known.method();
            (name, descriptor) == (&*method.name, &*method.descriptor)
        };
        let held: Vec<Probe> = of_class
            .iter()
            // What records inside a context only has a level of its own.
            .filter(|(number, known)| is_of(known) && known.context().is_empty() && instrumentation.live.holds(*number))
            .map(|(number, known)| (*number, known.template() == wanted.template))
            .collect();
        let all_live = held.iter().all(|(number, _)| instrumentation.live.is_live(*number));
        if !all_live || !held.iter().any(|(_, is_meant)| *is_meant) {
            return None;
        }
        found.extend(held);
    }
    Some(found)
}
