//! How many classes are retransformed at once: as many as the JVM retransforms within the time for which the application may be stopped,
//! by what the batches before have shown.
//!
//! A batch takes a fixed time and some for each class. In a large application the JVM looks through all its classes for each batch, which may take
//! longer than the application should be stopped: smaller batches would not help then, and there would be many more of them.

use std::time::{Duration, Instant};

/// Two batches that stop the application are this far apart. The parts of a batch that the JVM rejects follow at once.
const DISTANCE: Duration = Duration::from_millis(200);
/// The first batch, before anything is known about this JVM: what belongs together is changed by one call.
const FIRST: usize = 32;
/// However long these take. One class was measured at 0.05 ms beside 50 ms for any batch: with fewer, a scatter of the fixed time would pass as the time of a
/// class, and there would be one stop for each class.
const LEAST: usize = 16;
const MOST: usize = 1_000;
/// A batch is at most this many times as large as the one before.
const FASTEST_GROWTH: usize = 8;

/// The sizes of batches, and how far they are apart.
#[derive(Debug)]
pub(super) struct Batches {
    budget: Duration,
    distance: Duration,
    size: usize,
    /// When the last one ended.
    last: Option<Instant>,
    /// Classes and seconds of the last batch.
    took: Option<(usize, f64)>,
    /// The fixed part of a batch's time in seconds, as far as is known.
    fixed: f64,
    /// The longest time of a batch of this change.
    longest: Duration,
}

impl Default for Batches {
    fn default() -> Batches {
        Batches::new(DISTANCE)
    }
}

impl Batches {
    /// Batches with `distance` between two of them.
    fn new(distance: Duration) -> Batches {
        Batches {
            budget: Duration::MAX,
            distance,
            size: FIRST,
            last: None,
            took: None,
            fixed: 0.0,
            longest: Duration::ZERO,
        }
    }

    /// From now on a batch is to take no longer than this.
    pub(super) fn keep_within(&mut self, budget: Duration) {
        self.budget = budget;
    }

    /// Another change begins.
    pub(super) fn forget_longest(&mut self) {
        self.longest = Duration::ZERO;
    }

    /// Returns the longest time that a batch of this change took.
    pub(super) fn longest(&self) -> Duration {
        self.longest
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
        self.longest = self.longest.max(time);
        let seconds = time.as_secs_f64();
        if let Some((other, took)) = self.took.replace((classes, seconds))
            && classes.abs_diff(other) > other / 4
        {
            let for_each = ((seconds - took) / (classes as f64 - other as f64)).max(0.0);
            self.fixed = (seconds - for_each * classes as f64).max(0.0);
        }
        // A batch that was smaller than it might have been says little about larger ones.
        if classes < self.size {
            return;
        }
        let fixed = self.fixed.min(seconds);
        let for_each = (seconds - fixed) / classes as f64;
        let allowed = self.budget.as_secs_f64().max(2.0 * fixed);
        let fitting = ((allowed - fixed) / for_each.max(f64::MIN_POSITIVE)) as usize;
        self.size = fitting.clamp(LEAST, (classes * FASTEST_GROWTH).clamp(LEAST, MOST));
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

    /// The sizes of ten batches, where one takes this many microseconds and each class some more.
    fn sizes(fixed: u64, for_each: u64) -> Vec<usize> {
        let mut batches = batches();
        let next = |_| {
            let size = batches.size();
            batches.took(size, Duration::from_micros(fixed + for_each * size as u64));
            size
        };
        (0..10).map(next).collect()
    }

    #[test]
    fn batches_grow_to_what_fits_into_the_budget() {
        let sizes = sizes(0, 200);
        assert!(sizes[1..].iter().all(|size| (95..=100).contains(size)), "0.2 ms for each class: {sizes:?}");
    }

    #[test]
    fn batches_that_take_too_long_become_smaller_but_not_tiny() {
        assert_eq!(sizes(0, 1_000)[1..], [20; 9]);
        assert_eq!(sizes(0, 5_000)[1..], [LEAST; 9]);
    }

    /// A Spring Boot application: 100 ms for any batch. One class at a time would stop it three thousand times.
    #[test]
    fn a_fixed_time_beyond_the_budget_is_shared_by_many_classes() {
        let sizes = sizes(100_000, 400);
        assert!(sizes[4..].iter().all(|size| *size >= 200), "{sizes:?}");
        assert!(sizes.iter().all(|size| *size <= 260), "no longer than twice the fixed time: {sizes:?}");
    }

    #[test]
    fn a_small_batch_says_nothing_about_large_ones() {
        let mut batches = batches();
        batches.took(1, Duration::from_micros(1));
        assert_eq!(batches.size(), FIRST);
    }

    /// Probes that persons ask for are batches of one class. A reload after them stopped a Spring Boot application 475 times, for 28 s together.
    #[test]
    fn many_small_batches_that_take_long_do_not_shrink_large_ones() {
        let mut batches = batches();
        for milliseconds in [47, 155, 172, 151, 93, 121, 81, 163, 115, 92] {
            batches.took(1, Duration::from_millis(milliseconds));
        }
        let mut sizes = Vec::new();
        while sizes.iter().sum::<usize>() < 475 {
            let size = batches.size();
            batches.took(size, Duration::from_micros(60_000 + 50 * size as u64));
            sizes.push(size);
        }
        assert!(sizes.len() <= 8, "{sizes:?}");
    }

    #[test]
    fn a_rejected_batch_is_followed_by_a_smaller_one() {
        let mut batches = batches();
        batches.rejected();
        assert_eq!(batches.size(), FIRST / 2);
    }

    #[test]
    fn the_first_batch_waits_for_nothing_and_the_next_one_for_its_distance() {
        let mut batches = batches();
        assert_eq!(batches.wait(), Duration::ZERO);
        batches.took(1, BUDGET);
        assert!(batches.wait() > Duration::from_secs(3_000));
    }
}
