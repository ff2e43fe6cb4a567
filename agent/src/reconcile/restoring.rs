//! Classes get their own bodies back. Where a method had got a wrapper, what is left is one that only passes the call on: the JVM lets nobody take
//! a method away.

use super::batches::Batches;
use super::retransforming;
use crate::classes::hierarchy::class_id;
use crate::classes::safe_retransforms::SAFE_RETRANSFORMS;
use crate::classes::unloaded_classes;
use crate::jvm::{Event, Jni, Jvmti, LoadedClass, LoadedClasses};
use crate::transform::instrumentation::Instrumentation;
use crate::transform::late_restores::{self, LATE_RESTORES};

/// Restores what was rewritten while `goes_on`, and returns how many classes keep their probes, switched off.
pub(super) fn restore(
    jvmti: Jvmti,
    jni: &Jni<'_>,
    instrumentation: &Instrumentation,
    (batches, goes_on): (&mut Batches, &dyn Fn() -> bool),
) -> usize {
    let noted = instrumentation.rewritten.take();
    // The event first, then the list: a class that is linked from now on is restored by the event.
    if let Err(error) = jvmti.set_event(Event::ClassPrepare, true) {
        tracing::error!(%error, "classes that are being loaded keep their probes, switched off");
    }
    LATE_RESTORES.add(noted.on_their_way.into_iter());
    // Of loaders that were gone before; from now on the JVM reports each.
    unloaded_classes::forget_freed(|gone| {
        instrumentation.forget(gone);
        gone.iter().for_each(|loader| LATE_RESTORES.loader_freed(*loader));
    });
    let loaded = match LoadedClasses::all(jvmti, jni) {
        Ok(loaded) => loaded,
        Err(error) => {
            tracing::error!(%error, "the loaded classes cannot be listed");
            return noted.classes.names();
        }
    };
    let is_ours =
        |class: &LoadedClass<'_>| class.internal_name(jvmti).is_some_and(|name| noted.classes.has_name(&name));
    let ours = loaded.as_slice().iter().copied().filter(is_ours);
    let linked: Vec<LoadedClass<'_>> = ours.filter(|class| !waits(jvmti, jni, *class)).collect();
    let waiting = LATE_RESTORES.count();
    tracing::debug!("{waiting} classes are restored when they are linked");
    if waiting == 0 {
        late_restores::stop_listening(jvmti);
    }
    let (safe, unsafe_to_touch): (Vec<_>, Vec<_>) =
        linked.into_iter().partition(|class| SAFE_RETRANSFORMS.hazard(jvmti, jni, *class, None).is_none());
    let mut kept = unsafe_to_touch.len();
    let recorded = (jvmti, Some((&instrumentation.events, "detach")));
    retransforming::in_batches(recorded, (batches, goes_on), &safe, &mut |_, error| {
        tracing::warn!(%error, "a class cannot be restored");
        kept += 1;
    });
    kept
}

/// Whether the class has to wait until it is linked: retransforming it while another thread does that could corrupt it (JDK-8277444).
fn waits(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) -> bool {
    let Some(id) = class_id(jvmti, jni, class) else { return false };
    if !class.is_prepared(jvmti) {
        LATE_RESTORES.add(std::iter::once(id.clone()));
        // It may have been linked before it was noted.
        if !class.is_prepared(jvmti) {
            return true;
        }
    }
    LATE_RESTORES.take(&id);
    false
}

/// A class has been linked: if it was rewritten before a detach, it is restored before anything of it runs.
pub(crate) fn class_linked(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) {
    if !LATE_RESTORES.are_waiting() {
        return;
    }
    let is_meant = class_id(jvmti, jni, class).is_some_and(|class| LATE_RESTORES.take(&class));
    if is_meant && SAFE_RETRANSFORMS.hazard(jvmti, jni, class, None).is_none() {
        let mut rejected = |_: LoadedClass<'_>, error| tracing::warn!(%error, "a class cannot be restored");
        retransforming::at_once((jvmti, None), &[class], &mut rejected);
    }
}
