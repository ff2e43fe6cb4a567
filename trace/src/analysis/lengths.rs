//! Average, percentiles and maximum of recorded calls: shown only as far as the recording carries them ([`WatchedLengths`]).

use super::Histogram;
use crate::WatchedLengths;

/// Beside short calls, the longest one must be so many times as long as what counts: it is the one that ticks made longest.
const LONE_MAXIMUM: u64 = 5;

/// The recorded durations of the calls of a method, statement, request or peer, and which figures of single calls they carry. Times in
/// nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct CallTimes {
    /// Distribution of the recorded durations. At level watch these are not the times that single calls took.
    pub durations: Histogram,
    /// Sum of the times of all calls, recursive ones included.
    pub sum: u64,
    /// Number of calls whose times are estimates (level watch); shorter ones were not recorded.
    pub estimated_calls: u64,
    /// Recorded lengths that are off by a late tick, and their sum.
    blurred: Option<Box<(Histogram, u64)>>,
    /// All others, if there are blurred ones.
    clear: Option<Box<Histogram>>,
    /// Some calls were too short for their recorded lengths to count: there is no average and no percentile.
    has_short_calls: bool,
    /// The maximum does not count either.
    is_short: bool,
}

impl CallTimes {
    /// Returns the mean time of a call; `None` if the recording does not carry it (level watch, see [`WatchedLengths`]).
    #[must_use]
    pub fn average(&self) -> Option<u64> {
        let (count, sum) = self.count_and_sum()?;
        sum.checked_div(count)
    }

    /// Returns the time that `percent` percent of the calls do not exceed; `None` as for [`average`](Self::average).
    #[must_use]
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.shown().map(|counted| counted.percentile(percent))
    }

    /// Returns the time of the longest call; `None` if the recording does not carry it. A long call is always recorded, so short ones do
    /// not matter if it is clearly longer: at level watch it may be known where the average is not.
    #[must_use]
    pub fn longest(&self) -> Option<u64> {
        let counted = self.counted();
        (!self.is_short && counted.count() > 0).then(|| counted.max())
    }

    /// Returns number and sum of the lengths that make up the average.
    pub(super) fn count_and_sum(&self) -> Option<(u64, u64)> {
        let blurred = self.blurred.as_ref().map_or(0, |blurred| blurred.1);
        Some((self.shown()?.count(), self.sum.saturating_sub(blurred)))
    }

    /// Adds a call.
    pub(super) fn add(&mut self, duration: u64, exact: bool) {
        self.estimated_calls += u64::from(!exact);
        self.sum = self.sum.saturating_add(duration);
        self.durations.record(duration);
    }

    /// Marks the duration of an added call as off by a late tick.
    pub(super) fn blur(&mut self, nanos: u64) {
        let (histogram, sum) = &mut **self.blurred.get_or_insert_default();
        histogram.record(nanos);
        *sum = sum.saturating_add(nanos);
    }

    /// Adds other calls.
    pub(super) fn merge(&mut self, other: &CallTimes) {
        self.estimated_calls += other.estimated_calls;
        self.sum = self.sum.saturating_add(other.sum);
        self.durations.merge(&other.durations);
        if let Some(others) = &other.blurred {
            let (histogram, sum) = &mut **self.blurred.get_or_insert_default();
            histogram.merge(&others.0);
            *sum = sum.saturating_add(others.1);
        }
    }

    /// Decides which figures of single calls are carried, after all calls have been added.
    pub(super) fn judge(&mut self, ticks: &WatchedLengths) {
        self.clear = self.blurred.as_ref().map(|blurred| Box::new(self.durations.without(&blurred.0)));
        let is_estimated = self.estimated_calls > 0;
        self.has_short_calls = is_estimated && !ticks.counts(self.counted().min());
        self.is_short = self.has_short_calls && !ticks.counts(self.counted().max() / LONE_MAXIMUM);
    }

    fn counted(&self) -> &Histogram {
        self.clear.as_deref().unwrap_or(&self.durations)
    }

    fn shown(&self) -> Option<&Histogram> {
        Some(self.counted()).filter(|counted| !self.has_short_calls && counted.count() > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    /// Average, median and maximum in milliseconds; those in the second list are blurred.
    fn figures(calls: &[u64], blurred: &[u64], estimated_calls: u64) -> [Option<u64>; 3] {
        let mut ticks = WatchedLengths::default();
        ticks.raise_limit(MILLISECOND);
        let mut times = CallTimes::default();
        for (length, number) in calls.iter().chain(blurred).zip(0..) {
            times.add(length * MILLISECOND, number >= estimated_calls);
        }
        blurred.iter().for_each(|length| times.blur(length * MILLISECOND));
        times.judge(&ticks);
        let figures = [times.average(), times.percentile(50.0), times.longest()];
        figures.map(|figure| figure.map(|nanos| (nanos as f64 / MILLISECOND as f64).round() as u64))
    }

    #[test]
    fn lengths_are_shown_if_all_of_a_methods_calls_count() {
        assert_eq!(figures(&[7, 8, 9], &[], 3), [Some(8), Some(8), Some(9)]);
        assert_eq!(figures(&[1, 8, 9], &[], 3), [None; 3], "a short call means many that no tick has seen");
        assert_eq!(figures(&[1, 8, 10], &[], 3), [None, None, Some(10)]);
        assert_eq!(figures(&[1, 1, 1], &[], 3), [None; 3]);
        assert_eq!(figures(&[1, 1, 1], &[], 0), [Some(1); 3], "exact");
        assert_eq!(figures(&[], &[], 0), [None; 3]);
    }

    #[test]
    fn calls_that_met_a_late_tick_are_left_out() {
        assert_eq!(figures(&[7, 8, 9], &[40], 4), [Some(8), Some(8), Some(9)]);
        assert_eq!(figures(&[], &[40], 1), [None; 3]);
    }
}
