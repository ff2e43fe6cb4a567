//! Classes that a detach cannot restore at once: they were rewritten, but the JVM has not defined or not linked them yet. They get their
//! own bodies back when they are linked, which is before they run (`reconcile/restoring.rs`).
//!
//! Kept beyond the session: a loader may look for a super type for as long as it likes. Another session may begin meanwhile; then they
//! get what that one wants.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::classes::followed_loaders::FollowedLoaders;
use crate::classes::hierarchy::{ClassId, LoaderId};
use crate::jvm::{Event, Jni, Jvmti};

/// The waiting classes of the process.
pub(crate) static LATE_RESTORES: LateRestores = LateRestores::new();

/// After so many linked classes the JVM is asked once more whether somebody waits in vain.
const LINKED: u32 = 256;

/// Classes that wait.
#[derive(Debug)]
pub(crate) struct LateRestores {
    waiting: Mutex<Option<Waiting>>,
    /// Whether there are any, to be read without the lock.
    some: AtomicBool,
    /// Classes linked while some waited.
    linked: AtomicU32,
}

#[derive(Debug, Default)]
struct Waiting {
    classes: FxHashSet<ClassId>,
    /// The loaders of these, as far as they may go.
    loaders: FollowedLoaders,
}

impl Waiting {
    fn forget(&mut self, gone: &[LoaderId]) {
        if !gone.is_empty() {
            self.classes.retain(|(_, loader)| !gone.contains(loader));
        }
    }
}

impl LateRestores {
    const fn new() -> LateRestores {
        LateRestores { waiting: Mutex::new(None), some: AtomicBool::new(false), linked: AtomicU32::new(0) }
    }

    /// Whether some class waits: the JVM must tell of classes that it links.
    pub(crate) fn are_waiting(&self) -> bool {
        self.some.load(Ordering::Acquire)
    }

    /// From now on these are restored when they are linked; the event must be on.
    pub(crate) fn add(&self, classes: impl Iterator<Item = ClassId>) {
        self.change(|waiting| waiting.classes.extend(classes));
    }

    /// Whether the class was waiting; it is not any more.
    pub(crate) fn take(&self, class: &ClassId) -> bool {
        self.change(|waiting| waiting.classes.remove(class))
    }

    /// From now on classes of these loaders wait no longer than the loaders live.
    pub(crate) fn follow(&self, jni: &Jni<'_>, loaders: FollowedLoaders) {
        self.change(|waiting| waiting.loaders.take_over(jni, loaders));
    }

    /// Forgets the classes whose loader is gone, and returns how many are left.
    pub(crate) fn forget_gone(&self, jni: &Jni<'_>) -> usize {
        self.change(|waiting| {
            let gone = waiting.loaders.take_gone(jni);
            waiting.forget(&gone);
            if waiting.classes.is_empty() {
                waiting.loaders.clear(jni);
            }
            waiting.classes.len()
        })
    }

    fn change<R>(&self, change: impl FnOnce(&mut Waiting) -> R) -> R {
        let mut waiting = self.waiting.lock();
        let waiting = waiting.get_or_insert_default();
        let result = change(waiting);
        self.some.store(!waiting.classes.is_empty(), Ordering::Release);
        result
    }

    /// Some class has been linked: now and then the JVM is asked whose loader is gone.
    pub(crate) fn one_was_linked(&self, jni: &Jni<'_>) {
        if !self.are_waiting() || self.linked.fetch_add(1, Ordering::Relaxed) % LINKED == LINKED - 1 {
            self.forget_gone(jni);
        }
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
        waiting.change(|waiting| waiting.forget(&[2, 3]));
        assert!(waiting.are_waiting() && !waiting.take(&class(2)));
        waiting.change(|waiting| waiting.forget(&[1]));
        assert!(!waiting.are_waiting(), "the JVM need not tell of linked classes any more");
    }
}
