//! Classes that could not be decided or rewritten when they were loaded: their super types were unknown, or one of these turned out to be
//! a type that a rule asks for, or they were not linked.
//! They are presented to the class hook once more when the JVM has linked them (`linked_classes.rs`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::classes::class_table::ClassTable;
use crate::classes::hierarchy::{ClassId, LoaderId};
use crate::jvm::{Event, Jni, Jvmti, LoadedClass};

/// Most classes that are remembered.
const MOST: usize = 10_000;

/// The waiting classes.
#[derive(Debug, Default)]
pub(crate) struct LateDecisions {
    classes: Mutex<Waiting>,
    /// How many names there are, to be read without the lock.
    count: AtomicUsize,
    /// Somebody else listens, too.
    keeps_listening: AtomicBool,
}

#[derive(Debug, Default)]
struct Waiting {
    /// The classes, and whether each only matters if it is below a type that rules ask for.
    classes: ClassTable<bool>,
    /// Classes get one more chance, not one each time they are loaded or retransformed.
    tried: FxHashSet<ClassId>,
    /// All that had a chance, the oldest first.
    order: VecDeque<ClassId>,
}

impl Waiting {
    /// Adds a class unless it had its chance. If there are too many, the oldest is forgotten: it is linked by now, or never will be.
    fn add(&mut self, name: &[u8], loader: LoaderId, is_doubtful: bool) {
        let class: ClassId = (name.into(), loader);
        if !self.tried.insert(class.clone()) {
            return;
        }
        self.order.push_back(class);
        if self.order.len() > MOST
            && let Some(first) = self.order.pop_front()
        {
            self.classes.remove(&first.0, first.1);
            self.tried.remove(&first);
        }
        self.classes.insert(name, loader, is_doubtful);
    }
}

impl LateDecisions {
    /// Remembers a class and has the JVM report when it is linked.
    pub(crate) fn remember(&self, jvmti: Jvmti, name: &[u8], loader: LoaderId) {
        let mut waiting = self.classes.lock();
        match waiting.classes.get_mut(name, loader) {
            Some(is_doubtful) => *is_doubtful = false,
            None => waiting.add(name, loader, false),
        }
        self.note_change(jvmti, &waiting);
    }

    /// The same for a class that only matters if it is below a type that rules ask for: whether it is, is known when it is linked.
    pub(crate) fn remember_doubtful(&self, jvmti: Jvmti, name: &[u8], loader: LoaderId) {
        let mut waiting = self.classes.lock();
        if waiting.classes.get(name, loader).is_none() {
            waiting.add(name, loader, true);
        }
        self.note_change(jvmti, &waiting);
    }

    /// Whether a loaded class has to wait until it is linked; the JVM presents it then. Retransforming it while another thread links it
    /// could corrupt it (JDK-8277444).
    pub(crate) fn waits_for_linking(&self, jvmti: Jvmti, jni: &Jni<'_>, class: LoadedClass<'_>, name: &[u8]) -> bool {
        if class.is_prepared(jvmti) {
            return false;
        }
        let loader = class.with_loader(jvmti, jni, |loader| jvmti.loader_id(loader));
        self.remember(jvmti, name, loader);
        // It may have been linked before the event was on; then either this thread takes it or the one that links it.
        !(class.is_prepared(jvmti) && self.forget(jvmti, name, loader).is_some())
    }

    /// Listens while there are names.
    fn note_change(&self, jvmti: Jvmti, waiting: &Waiting) {
        let now = waiting.classes.names();
        let before = self.count.swap(now, Ordering::Relaxed);
        if (before == 0) != (now == 0) {
            self.listen(jvmti, now != 0);
        }
    }

    /// Has the JVM report every class that it links from now on, whether one is waiting or not.
    pub(crate) fn keep_listening(&self, jvmti: Jvmti) {
        self.keeps_listening.store(true, Ordering::Release);
        self.listen(jvmti, true);
    }

    fn listen(&self, jvmti: Jvmti, enabled: bool) {
        if !enabled
            && (self.keeps_listening.load(Ordering::Acquire)
                || crate::transform::late_restores::LATE_RESTORES.are_waiting())
        {
            return;
        }
        if let Err(error) = jvmti.set_event(Event::ClassPrepare, enabled) {
            tracing::warn!(%error, "classes with unknown super types stay undecided");
        }
    }

    /// Whether any class is waiting.
    pub(crate) fn are_waiting(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Takes a class that was linked. Returns whether it was a doubtful one; `None` if it was not waiting.
    pub(crate) fn forget(&self, jvmti: Jvmti, name: &[u8], loader: LoaderId) -> Option<bool> {
        let mut waiting = self.classes.lock();
        let was_doubtful = waiting.classes.remove(name, loader);
        self.note_change(jvmti, &waiting);
        was_doubtful
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_waits_once_and_for_its_own_loader() {
        let mut waiting = Waiting::default();
        waiting.add(b"a/C", 1, true);
        waiting.add(b"a/C", 2, false);
        assert_eq!(waiting.classes.remove(b"a/C", 3), None);
        assert_eq!(waiting.classes.remove(b"a/C", 1), Some(true));
        waiting.add(b"a/C", 1, false);
        assert_eq!(waiting.classes.remove(b"a/C", 1), None, "it had its chance");
        assert_eq!((waiting.classes.remove(b"a/C", 2), waiting.classes.names()), (Some(false), 0));
    }

    #[test]
    fn of_too_many_the_newest_wait() {
        let mut waiting = Waiting::default();
        let most = LoaderId::try_from(MOST).unwrap();
        (0..most + 5).for_each(|loader| waiting.add(b"a/C", loader, false));
        assert_eq!((waiting.tried.len(), waiting.order.len(), waiting.classes.classes()), (MOST, MOST, MOST));
        let mut is_waiting = |loader| waiting.classes.remove(b"a/C", loader).is_some();
        assert!(!is_waiting(4) && is_waiting(5) && is_waiting(most + 4));
    }
}
