//! Which classes were handed back changed and may hold probes: what a detach has to restore.

use std::collections::VecDeque;

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::classes::class_table::ClassTable;
use crate::classes::hierarchy::{ClassId, LoaderId};
use crate::classes::pool_growth::PoolGrowth;
use crate::jvm;

/// More classes than are ever defined at the same moment: each is on the stack of some thread.
const ON_THEIR_WAY: usize = 4_096;

/// The rewritten classes of a session.
#[derive(Debug, Default)]
pub(crate) struct RewrittenClasses {
    noted: Mutex<Noted>,
}

/// What was rewritten up to some moment.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// All names, and the classes of each, without those whose loader is known to be gone.
    pub(crate) classes: ClassTable<Rewritten>,
    /// Those that passed the class hook last, and that the JVM may not have defined yet: it looks for the super types first, by
    /// Java code that may take its time.
    pub(crate) on_their_way: VecDeque<ClassId>,
}

/// A class that was changed.
#[derive(Debug)]
pub(crate) struct Rewritten {
    /// Whether it is changed still.
    is_changed: bool,
    /// What it has was given to it in this pass, or a later one.
    pass: u32,
    growth: PoolGrowth,
}

impl RewrittenClasses {
    /// A class was rewritten; `is_first` says that it is about to be defined.
    pub(crate) fn note(&self, name: &[u8], class: &jvm::ClassFile<'_>, is_first: bool, pass: u32) {
        let loader = class.loader_id();
        let mut noted = self.noted.lock();
        noted.note(name, loader, is_first);
        noted.with(name, loader, |class| class.pass = pass);
    }

    /// A class that is loaded was handed back as it was before, or the JVM has rejected what was made of it.
    pub(crate) fn note_unchanged(&self, name: &[u8], loader: LoaderId) {
        self.noted.lock().with(name, loader, |class| class.is_changed = false);
    }

    /// Returns the pass in which a class was changed last, if it is changed.
    pub(crate) fn pass_of(&self, (name, loader): &ClassId) -> Option<u32> {
        self.noted.lock().with(name, *loader, |class| class.is_changed.then_some(class.pass)).flatten()
    }

    /// The JVM has rejected what was made of a class: it is as it was in this pass.
    pub(crate) fn set_pass(&self, (name, loader): &ClassId, pass: u32) {
        self.noted.lock().with(name, *loader, |class| class.pass = pass);
    }

    /// Returns the earliest of the passes in which the classes of this name were changed last; `None` if none of them is changed. Probes that were
    /// given earlier are in none of them.
    pub(crate) fn earliest_pass(&self, name: &[u8]) -> Option<u32> {
        let noted = self.noted.lock();
        noted.changed_of(name).map(|(_, class)| class.pass).min()
    }

    /// A class was retransformed; `pool_size` looks at its constant pool.
    pub(crate) fn note_retransformed(&self, (name, loader): &ClassId, pool_size: impl FnOnce() -> Option<usize>) {
        self.noted.lock().with(name, *loader, |class| class.growth.note(pool_size));
    }

    /// Returns how often the class was retransformed, if its constant pool grows each time.
    pub(crate) fn retransformed_too_often(&self, (name, loader): &ClassId) -> Option<u32> {
        self.noted.lock().with(name, *loader, |class| class.growth.too_often()).flatten()
    }

    /// Whether the class of this loader is changed.
    pub(crate) fn has(&self, name: &[u8], loader: LoaderId) -> bool {
        self.noted.lock().with(name, loader, |class| class.is_changed) == Some(true)
    }

    /// Whether the class of this loader was changed at some time.
    pub(crate) fn had(&self, name: &[u8], loader: LoaderId) -> bool {
        self.noted.lock().with(name, loader, |_| ()).is_some()
    }

    /// Returns the loaders whose class of this name is changed.
    pub(crate) fn loaders_of(&self, name: &[u8]) -> Vec<LoaderId> {
        let noted = self.noted.lock();
        noted.changed_of(name).map(|(loader, _)| *loader).collect()
    }

    /// Forgets the classes of loaders that are gone.
    pub(crate) fn forget(&self, gone: &FxHashSet<LoaderId>) {
        self.noted.lock().forget(gone);
    }

    /// How many names there are.
    pub(crate) fn size(&self) -> usize {
        self.noted.lock().classes.names()
    }

    /// What was noted; the next to be noted are the first again.
    pub(crate) fn take(&self) -> Noted {
        std::mem::take(&mut *self.noted.lock())
    }
}

impl Noted {
    fn with<R>(&mut self, name: &[u8], loader: LoaderId, body: impl FnOnce(&mut Rewritten) -> R) -> Option<R> {
        self.classes.get_mut(name, loader).map(body)
    }

    /// Returns the classes of a name that are changed.
    fn changed_of(&self, name: &[u8]) -> impl Iterator<Item = &(LoaderId, Rewritten)> {
        self.classes.of_name(name).filter(|(_, class)| class.is_changed)
    }

    fn note(&mut self, name: &[u8], loader: LoaderId, is_first: bool) {
        if self.with(name, loader, |class| class.is_changed = true).is_none() {
            self.classes.insert(name, loader, Rewritten { is_changed: true, pass: 0, growth: PoolGrowth::default() });
        }
        if is_first {
            if self.on_their_way.len() >= ON_THEIR_WAY {
                self.on_their_way.pop_front();
            }
            self.on_their_way.push_back((name.into(), loader));
        }
    }

    fn forget(&mut self, gone: &FxHashSet<LoaderId>) {
        self.classes.forget(gone);
        // What its loader has not defined by now never is.
        self.on_their_way.retain(|(_, loader)| !gone.contains(loader));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_classes_on_their_way_the_last_are_known_and_of_all_the_names() {
        let mut classes = Noted::default();
        let most = LoaderId::try_from(ON_THEIR_WAY).unwrap();
        classes.note(b"a/Again", 1, false);
        (0..most + 3).for_each(|loader| classes.note(b"a/C", loader, true));
        assert_eq!(classes.classes.names(), 2);
        assert_eq!(classes.on_their_way.len(), ON_THEIR_WAY);
        assert_eq!(classes.on_their_way.front(), Some(&(b"a/C".as_slice().into(), 3)));
    }

    #[test]
    fn no_class_is_on_its_way_to_a_loader_that_is_gone() {
        let mut classes = Noted::default();
        [1, 2, 1].into_iter().for_each(|loader| classes.note(b"a/C", loader, true));
        classes.forget(&FxHashSet::from_iter([1, 3]));
        assert_eq!(classes.on_their_way, [(b"a/C".as_slice().into(), 2)]);
    }
}
