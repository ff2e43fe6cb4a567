//! Packages that the image does not have. Most questions are about classes of an application, of the same few packages again and again.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxBuildHasher;

/// So many are remembered; a newer one takes the place of an older one.
const PLACES: usize = 256;

/// Some of the packages that were looked for in vain.
#[derive(Debug)]
pub(super) struct ForeignPackages {
    /// Hash of the name, 0 for none: two names of the same 64 bits are not to be expected.
    places: [AtomicU64; PLACES],
}

impl Default for ForeignPackages {
    fn default() -> Self {
        ForeignPackages { places: [const { AtomicU64::new(0) }; PLACES] }
    }
}

impl ForeignPackages {
    /// Whether this one is remembered.
    pub(super) fn has(&self, package: &[u8]) -> bool {
        let (hash, place) = self.find(package);
        place.is_some_and(|place| place.load(Ordering::Relaxed) == hash)
    }

    /// Remembers it.
    pub(super) fn add(&self, package: &[u8]) {
        let (hash, place) = self.find(package);
        if let Some(place) = place {
            place.store(hash, Ordering::Relaxed);
        }
    }

    fn find(&self, package: &[u8]) -> (u64, Option<&AtomicU64>) {
        let hash = FxBuildHasher.hash_one(package).max(1);
        // The upper bits of this hash are its good ones.
        (hash, self.places.get((hash >> 56) as usize % PLACES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_packages_some_are_remembered_and_none_is_taken_for_another() {
        let foreign = ForeignPackages::default();
        let name = |number: usize| format!("com/acme/part{number}").into_bytes();
        assert!(!foreign.has(b"") && !foreign.has(&name(0)));
        (0..1_000).for_each(|number| foreign.add(&name(number)));
        assert!(foreign.has(&name(999)));
        let known = (0..1_000).filter(|number| foreign.has(&name(*number))).count();
        assert!((100..=PLACES).contains(&known), "{known}");
        assert!((1_000..2_000).all(|number| !foreign.has(&name(number))));
    }
}
