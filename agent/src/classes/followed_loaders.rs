//! Class loaders that somebody keeps something about: noticed when they are gone, without keeping them alive.

use rustc_hash::FxHashMap;

use crate::classes::hierarchy::LoaderId;
use crate::jvm::{Jni, ObjectRef, WeakObject};

/// The JVM is asked which loaders are gone when there are twice as many as were left the last time, and at least so many: all loaders
/// together are asked for about twice.
const FEW: usize = 64;

/// The loaders.
#[derive(Debug, Default)]
pub(crate) struct FollowedLoaders {
    /// Two that live may have the same number: what is kept under it is needed until both are gone.
    loaders: FxHashMap<LoaderId, Vec<WeakObject>>,
    /// Numbers of those that were alive when that was asked last.
    alive: usize,
}

impl FollowedLoaders {
    /// Makes sure that it is noticed when this loader is gone, and says which others are: what is kept about them is to be forgotten.
    #[must_use]
    pub(crate) fn follow(&mut self, jni: &Jni<'_>, loader: LoaderId, object: ObjectRef<'_>) -> Vec<LoaderId> {
        // Its exception is not ours to lose, and few questions are allowed meanwhile: the next class of the loader will do.
        if jni.exception_pending() {
            return Vec::new();
        }
        let same_number = self.loaders.get(&loader).map_or(&[][..], Vec::as_slice);
        if same_number.iter().any(|known| known.is(jni, object)) {
            return Vec::new();
        }
        let mut gone = Vec::new();
        // Another loader may have had the same number.
        if !same_number.is_empty() && are_collected(jni, same_number) {
            self.delete(jni, loader);
            gone.push(loader);
        }
        if self.loaders.len() >= FEW.max(2 * self.alive) {
            gone.extend(self.take_gone(jni));
        }
        if let Some(object) = WeakObject::new(jni, object) {
            self.loaders.entry(loader).or_default().push(object);
        }
        gone
    }

    /// Those that are gone; they are not followed any more.
    #[must_use]
    pub(crate) fn take_gone(&mut self, jni: &Jni<'_>) -> Vec<LoaderId> {
        let gone = self.loaders.iter().filter(|(_, known)| are_collected(jni, known)).map(|(loader, _)| *loader);
        let gone: Vec<LoaderId> = gone.collect();
        gone.iter().for_each(|loader| self.delete(jni, *loader));
        self.alive = self.loaders.len();
        gone
    }

    /// Follows what the other one has followed.
    pub(crate) fn take_over(&mut self, jni: &Jni<'_>, other: FollowedLoaders) {
        for (loader, objects) in other.loaders {
            if let Some(double) = self.loaders.insert(loader, objects) {
                double.into_iter().for_each(|object| object.delete(jni));
            }
        }
    }

    /// Follows nobody any more.
    pub(crate) fn clear(&mut self, jni: &Jni<'_>) {
        self.loaders.drain().flat_map(|(_, objects)| objects).for_each(|object| object.delete(jni));
        self.alive = 0;
    }

    /// How many are followed.
    pub(crate) fn len(&self) -> usize {
        self.loaders.len()
    }

    fn delete(&mut self, jni: &Jni<'_>, loader: LoaderId) {
        self.loaders.remove(&loader).into_iter().flatten().for_each(|object| object.delete(jni));
    }
}

fn are_collected(jni: &Jni<'_>, loaders: &[WeakObject]) -> bool {
    loaders.iter().all(|loader| loader.is_collected(jni))
}
