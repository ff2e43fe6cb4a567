//! Class loaders that somebody keeps something about: noticed when they are gone, without keeping them alive.

use rustc_hash::FxHashMap;

use crate::hierarchy::LoaderId;
use crate::jvm::{Jni, ObjectRef, WeakObject};

/// The JVM is asked which loaders are gone when there are twice as many as were left the last time, and at least so many: all loaders
/// together are asked for about twice.
const FEW: usize = 16;

/// The loaders.
#[derive(Debug, Default)]
pub(crate) struct FollowedLoaders {
    loaders: FxHashMap<LoaderId, WeakObject>,
    /// Those that were alive when that was asked last.
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
        let mut gone = Vec::new();
        // Another loader may have had the same number.
        if self.loaders.get(&loader).is_some_and(|known| known.is_collected(jni)) {
            self.delete(jni, loader);
            gone.push(loader);
        }
        if self.loaders.len() >= FEW.max(2 * self.alive) {
            gone.extend(self.take_gone(jni));
        }
        if !self.loaders.contains_key(&loader)
            && let Some(object) = WeakObject::new(jni, object)
        {
            self.loaders.insert(loader, object);
        }
        gone
    }

    /// Those that are gone; they are not followed any more.
    #[must_use]
    pub(crate) fn take_gone(&mut self, jni: &Jni<'_>) -> Vec<LoaderId> {
        let gone = self.loaders.iter().filter(|(_, known)| known.is_collected(jni)).map(|(loader, _)| *loader);
        let gone: Vec<LoaderId> = gone.collect();
        gone.iter().for_each(|loader| self.delete(jni, *loader));
        self.alive = self.loaders.len();
        gone
    }

    /// Follows what the other one has followed.
    pub(crate) fn take_over(&mut self, jni: &Jni<'_>, other: FollowedLoaders) {
        for (loader, object) in other.loaders {
            if let Some(double) = self.loaders.insert(loader, object) {
                double.delete(jni);
            }
        }
    }

    /// Follows nobody any more.
    pub(crate) fn clear(&mut self, jni: &Jni<'_>) {
        self.loaders.drain().for_each(|(_, object)| object.delete(jni));
        self.alive = 0;
    }

    fn delete(&mut self, jni: &Jni<'_>, loader: LoaderId) {
        if let Some(object) = self.loaders.remove(&loader) {
            object.delete(jni);
        }
    }
}
