//! Classes that a detach cannot restore at once: they were rewritten, but the JVM has not defined or not linked them yet. They get their
//! own bodies back when they are linked, which is before they run.
//!
//! Kept beyond the session: a loader may look for a super type for as long as it likes. Another session may begin meanwhile; then they
//! get what that one wants.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::hotspot_hazards;
use crate::jvm::{self, Event, Jni, Jvmti, LoadedClass};
use crate::rewritten_classes::ClassOfLoader;

/// The waiting classes of the process.
pub(crate) static LATE_RESTORES: LateRestores = LateRestores::new();

/// Classes that wait.
#[derive(Debug)]
pub(crate) struct LateRestores {
    classes: Mutex<Option<FxHashSet<ClassOfLoader>>>,
    /// Whether there are any, to be read without the lock.
    some: AtomicBool,
}

impl LateRestores {
    const fn new() -> LateRestores {
        LateRestores { classes: Mutex::new(None), some: AtomicBool::new(false) }
    }

    /// Whether some class waits: the JVM must tell of classes that it links.
    pub(crate) fn are_waiting(&self) -> bool {
        self.some.load(Ordering::Acquire)
    }

    /// From now on these are restored when they are linked; the event must be on.
    pub(crate) fn add(&self, classes: impl Iterator<Item = ClassOfLoader>) {
        let mut waiting = self.classes.lock();
        let waiting = waiting.get_or_insert_default();
        waiting.extend(classes);
        self.some.store(!waiting.is_empty(), Ordering::Release);
    }

    /// Whether the class was waiting; it is not any more.
    pub(crate) fn take(&self, class: &ClassOfLoader) -> bool {
        let mut waiting = self.classes.lock();
        let Some(waiting) = &mut *waiting else { return false };
        let was_waiting = waiting.remove(class);
        self.some.store(!waiting.is_empty(), Ordering::Release);
        was_waiting
    }

    /// A class has been linked.
    pub(crate) fn class_prepared(&self, jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) {
        let is_meant = self.are_waiting() && of_loader(jvmti, jni, class).is_some_and(|class| self.take(&class));
        if is_meant && hotspot_hazards::of_class(jvmti, jvmti.java_version(), class).is_none() {
            jvm::retransform(jvmti, &[class], &mut |_, error| tracing::warn!(%error, "a class cannot be restored"));
        }
    }
}

/// The class by its name and its loader; `None` for those that nobody can rewrite.
pub(crate) fn of_loader(jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>) -> Option<ClassOfLoader> {
    let name = class.internal_name(jvmti)?;
    Some((name.into(), class.with_loader(jvmti, jni, |loader| jvmti.identity_hash(loader))))
}

/// Switches the event off that tells of linked classes.
pub(crate) fn stop_listening(jvmti: Jvmti) {
    if let Err(error) = jvmti.set_event(Event::ClassPrepare, false) {
        tracing::error!(%error, "classes that are linked are still told");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_waits_for_its_own_loader_and_once() {
        let waiting = LateRestores::new();
        let class = |loader| (b"a/C".as_slice().into(), loader);
        assert!(!waiting.take(&class(1)) && !waiting.are_waiting());
        waiting.add([class(1), class(2)].into_iter());
        assert!(!waiting.take(&class(3)) && waiting.take(&class(1)) && !waiting.take(&class(1)));
        assert!(waiting.are_waiting() && waiting.take(&class(2)) && !waiting.are_waiting());
    }
}
