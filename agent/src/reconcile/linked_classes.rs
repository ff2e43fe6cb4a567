//! Classes that have waited until the JVM linked them: decided again, now that their super types are known. They pass on the thread that links
//! them, before anything of theirs runs.

use std::sync::Arc;

use super::retransforming::{MayRead, Retransforming};
use crate::classes::hierarchy::{LoaderId, TypeIndex, class_id};
use crate::jvm::{Jni, Jvmti, LoadedClass};
use crate::transform::instrumentation::Instrumentation;

/// A class has been linked: if it is one of ours, its super types are known now.
pub(crate) fn class_prepared(
    instrumentation: &Arc<Instrumentation>,
    jvmti: Jvmti,
    jni: &Jni<'_>,
    class: LoadedClass<'_>,
) {
    if !instrumentation.late.are_waiting() {
        return;
    }
    let Some((name, loader)) = class_id(jvmti, jni, class) else { return };
    let Some(is_doubtful) = instrumentation.late.forget(jvmti, &name, loader) else { return };
    let generation = instrumentation.generation();
    if generation.rules().needs_hierarchy() {
        learn_super_types(jvmti, jni, &generation.types, class, loader, 0);
    }
    if is_doubtful && !generation.types.is_below_asked(&name, loader) {
        return;
    }
    let mut retransforming = Retransforming::new(jvmti, instrumentation, "linked");
    let safe = retransforming.safe_among(jni, &[class], MayRead::Nothing);
    retransforming.retransform(jni, &safe, None);
    // It may have been the last with a probe that a reload has taken from the classes of other loaders.
    retransforming.forget_lost_probes();
}

/// Deeper hierarchies do not exist; a limit keeps the recursion off the end of a small stack.
const DEEPEST: usize = 128;

/// Notes the super types of a linked class, up to those that are known already.
fn learn_super_types(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    types: &TypeIndex,
    class: LoadedClass<'_>,
    seen_by: LoaderId,
    depth: usize,
) {
    let Some(name) = class.internal_name(jvmti) else { return };
    if depth >= DEEPEST || name == b"java/lang/Object" {
        return;
    }
    class.with_super_types(jvmti, jni, |super_class, interfaces| {
        let super_name = super_class.and_then(|class| class.internal_name(jvmti));
        let super_name = super_name.unwrap_or_else(|| b"java/lang/Object".to_vec());
        let interface_names: Vec<_> = interfaces.iter().filter_map(|class| class.internal_name(jvmti)).collect();
        let names = std::iter::once(&super_name).chain(&interface_names).map(Vec::as_slice);
        // Known under the loader whose class asks: that is how the JVM resolved the name for it.
        types.learn_loaded(&name, seen_by, names);
        for class in super_class.into_iter().chain(interfaces.iter().copied()) {
            learn_super_types(jvmti, jni, types, class, seen_by, depth + 1);
        }
    });
}
