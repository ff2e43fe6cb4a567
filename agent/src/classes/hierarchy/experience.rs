//! Whether super types that nobody has seen yet are read from their class files, or the class waits until the JVM loads them.
//!
//! Reading takes some 30 us for each class that has such a super type, whatever comes of it. Waiting costs next to nothing, but a class that
//! turns out to be wanted must be retransformed, which takes a millisecond and stops the program. So classes wait unless many of those with
//! unseen super types have turned out to be wanted lately. Both ways bring the same experience: there is no need to try the other one.

use std::sync::atomic::{AtomicU32, Ordering};

/// Of so many classes, one that is wanted is worth reading the super types of all.
const WORTH: u32 = 32;

/// Fewer wanted classes than this are no experience.
const FEWEST: u32 = 4;

/// After so many classes older ones count half.
const LONG_AGO: u32 = 2048;

/// What came of classes with super types that nobody had seen.
#[derive(Debug, Default)]
pub(super) struct Experience {
    classes: AtomicU32,
    wanted: AtomicU32,
}

impl Experience {
    /// A class comes with such a super type.
    pub(super) fn note_class(&self) {
        if self.classes.fetch_add(1, Ordering::Relaxed) >= LONG_AGO {
            // Classes that come on other threads meanwhile may not be counted: this is no bookkeeping.
            for count in [&self.classes, &self.wanted] {
                count.store(count.load(Ordering::Relaxed) / 2, Ordering::Relaxed);
            }
        }
    }

    /// One of these turned out to be wanted because of that super type.
    pub(super) fn note_wanted(&self) {
        self.wanted.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether reading is cheaper than waiting.
    pub(super) fn reading_pays(&self) -> bool {
        let wanted = self.wanted.load(Ordering::Relaxed);
        wanted >= FEWEST && wanted.saturating_mul(WORTH) > self.classes.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn see(experience: &Experience, classes: u32, one_wanted_in: u32) {
        for number in 1..=classes {
            experience.note_class();
            if number % one_wanted_in == 0 {
                experience.note_wanted();
            }
        }
    }

    #[test]
    fn nobody_reads_before_some_classes_were_wanted() {
        let experience = Experience::default();
        assert!(!experience.reading_pays());
        see(&experience, 3, 1);
        assert!(!experience.reading_pays());
        see(&experience, 1, 1);
        assert!(experience.reading_pays());
    }

    #[test]
    fn what_is_seldom_wanted_is_not_read() {
        let experience = Experience::default();
        see(&experience, 100_000, 40);
        assert!(!experience.reading_pays());
    }

    #[test]
    fn habits_change_with_what_comes() {
        let experience = Experience::default();
        see(&experience, 100_000, 10);
        assert!(experience.reading_pays());
        see(&experience, 2 * LONG_AGO, u32::MAX);
        see(&experience, 2 * LONG_AGO, u32::MAX);
        assert!(!experience.reading_pays(), "none was wanted for long");
        see(&experience, 2 * LONG_AGO, 10);
        assert!(experience.reading_pays(), "many are again");
    }
}
