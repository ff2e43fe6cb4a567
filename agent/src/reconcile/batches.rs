//! How many classes are retransformed at once: as many as the JVM retransforms within the time that the application may stand still,
//! by what the batches before have shown.

use std::time::{Duration, Instant};

/// The first batch, before anything is known about this JVM.
const FIRST: usize = 16;
/// The JVM takes a fixed part of a batch's time, so that larger ones are cheaper for each class; but not beyond this size.
const MOST: usize = 1_000;

/// The sizes of batches, and how far they are apart.
#[derive(Debug)]
pub(super) struct Batches {
    budget: Duration,
    distance: Duration,
    size: usize,
    /// When the last one ended.
    last: Option<Instant>,
}

impl Batches {
    /// Batches with `distance` between two of them.
    pub(super) fn new(distance: Duration) -> Batches {
        Batches { budget: Duration::MAX, distance, size: FIRST, last: None }
    }

    /// From now on a batch is to take no longer than this.
    pub(super) fn keep_within(&mut self, budget: Duration) {
        self.budget = budget;
    }

    /// Returns how many classes the next batch may have.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Returns for how long the next batch has to wait.
    pub(super) fn wait(&self) -> Duration {
        self.last.map_or(Duration::ZERO, |last| self.distance.saturating_sub(last.elapsed()))
    }

    /// Notes that a batch of this many classes ended now and took this long.
    pub(super) fn took(&mut self, classes: usize, time: Duration) {
        self.last = Some(Instant::now());
        if time > self.budget {
            let fitting = classes as f64 * self.budget.as_secs_f64() / time.as_secs_f64();
            self.size = (fitting as usize).max(1);
        } else if classes >= self.size && time < self.budget / 2 {
            self.size = (self.size * 2).min(MOST);
        }
    }

    /// Notes that the JVM rejected a batch.
    pub(super) fn rejected(&mut self) {
        self.size = (self.size / 2).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUDGET: Duration = Duration::from_millis(20);

    fn batches() -> Batches {
        let mut batches = Batches::new(Duration::from_secs(3_600));
        batches.keep_within(BUDGET);
        batches
    }

    #[test]
    fn batches_grow_to_what_fits_into_the_budget() {
        let mut batches = batches();
        let sizes: Vec<usize> = (0..10)
            .map(|_| {
                let size = batches.size();
                // 0.2 ms for each class.
                batches.took(size, Duration::from_micros(200 * size as u64));
                size
            })
            .collect();
        assert_eq!(sizes[..4], [16, 32, 64, 64], "{sizes:?}");
        assert_eq!(sizes[9], 64, "between half of the budget and the whole it stays");
    }

    #[test]
    fn a_batch_that_took_too_long_is_followed_by_a_smaller_one_but_never_by_none() {
        let mut batches = batches();
        batches.took(16, BUDGET * 4);
        assert_eq!(batches.size(), 4);
        batches.took(4, BUDGET * 100);
        assert_eq!(batches.size(), 1);
        batches.rejected();
        assert_eq!(batches.size(), 1);
    }

    #[test]
    fn a_small_batch_says_nothing_about_large_ones() {
        let mut batches = batches();
        batches.took(1, Duration::from_micros(1));
        assert_eq!(batches.size(), FIRST);
    }

    #[test]
    fn the_first_batch_waits_for_nothing_and_the_next_one_for_its_distance() {
        let mut batches = batches();
        assert_eq!(batches.wait(), Duration::ZERO);
        batches.took(1, BUDGET);
        assert!(batches.wait() > Duration::from_secs(3_000));
    }
}
