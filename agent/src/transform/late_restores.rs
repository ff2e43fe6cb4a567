//! Classes that a detach cannot restore at once: they were rewritten, but the JVM has not defined or not linked them yet. They get their
//! own bodies back when they are linked, which is before they run (`reconcile/restoring.rs`).
//!
//! Kept beyond the session: a loader may look for a super type for as long as it likes. Another session may begin meanwhile; then they
//! get what that one wants.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::classes::hierarchy::{ClassId, LoaderId};
use crate::jvm::{Event, Jvmti};

/// The waiting classes of the process.
pub(crate) static LATE_RESTORES: LateRestores = LateRestores::new();

/// Classes that wait.
#[derive(Debug)]
pub(crate) struct LateRestores {
    /// Never locked while the JVM is called: on some JDKs the application is stopped while the JVM reports that a loader is gone.
    waiting: Mutex<Option<FxHashSet<ClassId>>>,
    /// Whether there are any, to be read without the lock.
    some: AtomicBool,
}

impl LateRestores {
    const fn new() -> LateRestores {
        LateRestores { waiting: Mutex::new(None), some: AtomicBool::new(false) }
    }

    /// Whether some class waits: the JVM must report classes that it links.
    pub(crate) fn are_waiting(&self) -> bool {
        self.some.load(Ordering::Acquire)
    }

    /// From now on these are restored when they are linked; the event must be on.
    pub(crate) fn add(&self, classes: impl Iterator<Item = ClassId>) {
        self.change(|waiting| waiting.extend(classes));
    }

    /// Whether the class was waiting; it is not any more.
    pub(crate) fn take(&self, class: &ClassId) -> bool {
        self.change(|waiting| waiting.remove(class))
    }

    /// Forgets the classes of a loader that is gone. Waits for nothing.
    pub(crate) fn loader_freed(&self, gone: LoaderId) {
        if self.are_waiting() {
            self.change(|waiting| waiting.retain(|(_, loader)| *loader != gone));
        }
    }

    /// Returns how many classes wait.
    pub(crate) fn count(&self) -> usize {
        self.change(|waiting| waiting.len())
    }

    fn change<R>(&self, change: impl FnOnce(&mut FxHashSet<ClassId>) -> R) -> R {
        let mut waiting = self.waiting.lock();
        let waiting = waiting.get_or_insert_default();
        let result = change(waiting);
        self.some.store(!waiting.is_empty(), Ordering::Release);
        result
    }
}

/// Switches the event of linked classes off.
pub(crate) fn stop_listening(jvmti: Jvmti) {
    if let Err(error) = jvmti.set_event(Event::ClassPrepare, false) {
        tracing::error!(%error, "the event of linked classes cannot be switched off");
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

    #[test]
    fn nobody_waits_for_a_loader_that_is_gone() {
        let waiting = LateRestores::new();
        let class = |loader| (b"a/C".as_slice().into(), loader);
        waiting.add([class(1), class(2)].into_iter());
        [2, 3].into_iter().for_each(|loader| waiting.loader_freed(loader));
        assert!(waiting.are_waiting() && !waiting.take(&class(2)));
        waiting.loader_freed(1);
        assert!(!waiting.are_waiting(), "the JVM need not report linked classes any more");
    }
}
