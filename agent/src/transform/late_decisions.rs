//! Classes that could not be decided or rewritten when they came: their super types were unknown, or a type that a rule asks for turned up
//! above them, or they were not linked.
//! They are presented to the class hook once more when the JVM has linked them (`linked_classes.rs`).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::classes::hierarchy::{ClassId, LoaderId};
use crate::jvm::{Event, Jni, Jvmti, LoadedClass};

/// So many classes are remembered at most.
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
    /// Loaders that define a waiting class of this name.
    names: FxHashMap<Box<[u8]>, Vec<LoaderId>>,
    /// Classes get one more chance, not one each time they come.
    tried: FxHashSet<ClassId>,
    /// Of those that wait, the ones that only matter if they are below a type that rules ask for.
    doubtful: FxHashSet<ClassId>,
    /// All that had a chance, in the order in which they came.
    order: VecDeque<ClassId>,
}

impl Waiting {
    /// Adds a class unless it had its chance; of too many, the one that came first is forgotten: it is linked by now, or never will be.
    fn add(&mut self, name: &[u8], loader: LoaderId) {
        let class: ClassId = (name.into(), loader);
        if !self.tried.insert(class.clone()) {
            return;
        }
        self.order.push_back(class);
        if self.order.len() > MOST
            && let Some(first) = self.order.pop_front()
        {
            self.take(&first.0, first.1);
            self.doubtful.remove(&first);
            self.tried.remove(&first);
        }
        self.names.entry(name.into()).or_default().push(loader);
    }

    /// Adds a class that only matters if it is below a type that rules ask for.
    fn add_doubtful(&mut self, name: &[u8], loader: LoaderId) {
        if !self.is_waiting(name, loader) {
            self.add(name, loader);
            if self.is_waiting(name, loader) {
                self.doubtful.insert((name.into(), loader));
            }
        }
    }

    fn is_waiting(&self, name: &[u8], loader: LoaderId) -> bool {
        self.names.get(name).is_some_and(|loaders| loaders.contains(&loader))
    }

    /// Whether the class was waiting; it is not any more.
    fn take(&mut self, name: &[u8], loader: LoaderId) -> bool {
        let Some(loaders) = self.names.get_mut(name) else { return false };
        let Some(at) = loaders.iter().position(|waiting| *waiting == loader) else { return false };
        loaders.swap_remove(at);
        if loaders.is_empty() {
            self.names.remove(name);
        }
        true
    }
}

impl LateDecisions {
    /// Remembers a class and has the JVM tell when it is linked.
    pub(crate) fn remember(&self, jvmti: Jvmti, name: &[u8], loader: LoaderId) {
        let mut waiting = self.classes.lock();
        waiting.add(name, loader);
        waiting.doubtful.remove(&(Box::from(name), loader));
        self.note_change(jvmti, &waiting);
    }

    /// The same for a class that only matters if it is below a type that rules ask for: whether it is can be told when it is linked.
    pub(crate) fn remember_doubtful(&self, jvmti: Jvmti, name: &[u8], loader: LoaderId) {
        let mut waiting = self.classes.lock();
        waiting.add_doubtful(name, loader);
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
        let now = waiting.names.len();
        let before = self.count.swap(now, Ordering::Relaxed);
        if (before == 0) != (now == 0) {
            self.listen(jvmti, now != 0);
        }
    }

    /// From now on the JVM tells of every class that it links, whether one is waiting or not.
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
        let was_waiting = waiting.take(name, loader);
        let was_doubtful = !waiting.doubtful.is_empty() && waiting.doubtful.remove(&(Box::from(name), loader));
        self.note_change(jvmti, &waiting);
        was_waiting.then_some(was_doubtful)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_waits_once_and_for_its_own_loader() {
        let mut waiting = Waiting::default();
        waiting.add(b"a/C", 1);
        waiting.add(b"a/C", 2);
        assert!(!waiting.take(b"a/C", 3));
        assert!(waiting.take(b"a/C", 1) && !waiting.take(b"a/C", 1));
        waiting.add(b"a/C", 1);
        assert!(!waiting.take(b"a/C", 1), "it had its chance");
        assert!(waiting.take(b"a/C", 2) && waiting.names.is_empty());
    }

    #[test]
    fn of_too_many_the_newest_wait() {
        let mut waiting = Waiting::default();
        let most = LoaderId::try_from(MOST).unwrap();
        (0..most + 5).for_each(|loader| waiting.add(b"a/C", loader));
        assert_eq!(
            (waiting.tried.len(), waiting.order.len(), waiting.names[b"a/C".as_slice()].len()),
            (MOST, MOST, MOST)
        );
        assert!(!waiting.take(b"a/C", 4) && waiting.take(b"a/C", 5) && waiting.take(b"a/C", most + 4));
    }
}
