//! Which classes were handed back changed and may hold probes: what a detach has to restore.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use rustc_hash::FxHashSet;

use crate::hierarchy::LoaderId;

/// More classes than are ever defined at the same moment: each is on the stack of some thread.
const ON_THEIR_WAY: usize = 4_096;

/// A class by its name and its loader.
pub(crate) type ClassOfLoader = (Arc<[u8]>, LoaderId);

/// The rewritten classes of a session.
#[derive(Debug, Default)]
pub(crate) struct RewrittenClasses {
    noted: Mutex<Noted>,
}

/// What was rewritten up to some moment.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    /// All names.
    pub(crate) names: FxHashSet<Arc<[u8]>>,
    /// Those that came last when they were loaded, and that the JVM may not have defined yet: it looks for the super types first, by
    /// Java code that may take its time.
    pub(crate) on_their_way: VecDeque<ClassOfLoader>,
}

impl RewrittenClasses {
    /// A class was rewritten; `defined_by` is the loader that is about to define it, if it comes for the first time.
    pub(crate) fn note(&self, name: &[u8], defined_by: Option<LoaderId>) {
        let mut noted = self.noted.lock();
        let noted = &mut *noted;
        let name = match noted.names.get(name) {
            Some(known) => Arc::clone(known),
            None => {
                let name: Arc<[u8]> = name.into();
                noted.names.insert(Arc::clone(&name));
                name
            }
        };
        if let Some(loader) = defined_by {
            if noted.on_their_way.len() >= ON_THEIR_WAY {
                noted.on_their_way.pop_front();
            }
            noted.on_their_way.push_back((name, loader));
        }
    }

    /// What was noted; the next to be noted are the first again.
    pub(crate) fn take(&self) -> Noted {
        std::mem::take(&mut *self.noted.lock())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_classes_on_their_way_the_last_are_known_and_of_all_the_names() {
        let classes = RewrittenClasses::default();
        let most = LoaderId::try_from(ON_THEIR_WAY).unwrap();
        classes.note(b"a/Again", None);
        (0..most + 3).for_each(|loader| classes.note(b"a/C", Some(loader)));
        let noted = classes.take();
        assert_eq!(noted.names.len(), 2);
        assert_eq!(noted.on_their_way.len(), ON_THEIR_WAY);
        assert_eq!(noted.on_their_way.front(), Some(&(b"a/C".as_slice().into(), 3)));
        assert!(classes.take().names.is_empty());
    }
}
