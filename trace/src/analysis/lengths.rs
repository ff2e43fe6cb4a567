//! Average, percentiles and maximum of recorded calls: shown only as far as the recording carries them ([`WatchedLengths`]).

use super::Histogram;
use crate::WatchedLengths;

/// Beside short calls, the longest one must be so many times as long as what counts: it is the one that ticks made longest.
const LONE_MAXIMUM: u64 = 5;

/// What is known about the lengths of single calls, beside all recorded durations.
#[derive(Debug, Clone, Default)]
pub(super) struct Lengths {
    /// Recorded lengths that are off by a late tick, and their sum.
    blurred: Option<Box<(Histogram, u64)>>,
    /// All others, if there are blurred ones.
    clear: Option<Box<Histogram>>,
    /// Some calls were too short for their recorded lengths to count: there is no average and no percentile.
    has_short_calls: bool,
    /// The maximum does not count either.
    is_short: bool,
}

/// The recorded durations of a method, statement, request or peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorded<'a> {
    pub(super) durations: &'a Histogram,
    pub(super) sum: u64,
    pub(super) estimated_calls: u64,
}

impl Lengths {
    /// One of the recorded durations is off by a late tick.
    pub(super) fn blur(&mut self, nanos: u64) {
        let (histogram, sum) = &mut **self.blurred.get_or_insert_default();
        histogram.record(nanos);
        *sum = sum.saturating_add(nanos);
    }

    /// Adds the blurred lengths of other calls.
    pub(super) fn merge(&mut self, other: &Lengths) {
        if let Some(others) = &other.blurred {
            let (histogram, sum) = &mut **self.blurred.get_or_insert_default();
            histogram.merge(&others.0);
            *sum = sum.saturating_add(others.1);
        }
    }

    /// Decides what is carried, after all calls have been added.
    pub(super) fn judge(&mut self, recorded: Recorded<'_>, ticks: &WatchedLengths) {
        self.clear = self.blurred.as_ref().map(|blurred| Box::new(recorded.durations.without(&blurred.0)));
        let is_estimated = recorded.estimated_calls > 0;
        self.has_short_calls = is_estimated && !ticks.counts(self.counted(recorded).min());
        self.is_short = self.has_short_calls && !ticks.counts(self.counted(recorded).max() / LONE_MAXIMUM);
    }

    fn counted<'a>(&'a self, recorded: Recorded<'a>) -> &'a Histogram {
        self.clear.as_deref().unwrap_or(recorded.durations)
    }

    fn shown<'a>(&'a self, recorded: Recorded<'a>) -> Option<&'a Histogram> {
        Some(self.counted(recorded)).filter(|counted| !self.has_short_calls && counted.count() > 0)
    }

    /// Number and sum of the lengths that make up the average.
    pub(super) fn count_and_sum(&self, recorded: Recorded<'_>) -> Option<(u64, u64)> {
        let blurred = self.blurred.as_ref().map_or(0, |blurred| blurred.1);
        Some((self.shown(recorded)?.count(), recorded.sum.saturating_sub(blurred)))
    }

    pub(super) fn average(&self, recorded: Recorded<'_>) -> Option<u64> {
        let (count, sum) = self.count_and_sum(recorded)?;
        sum.checked_div(count)
    }

    pub(super) fn percentile(&self, recorded: Recorded<'_>, percent: f64) -> Option<u64> {
        self.shown(recorded).map(|counted| counted.percentile(percent))
    }

    /// A long call is always recorded, so short ones do not matter if it is clearly longer.
    pub(super) fn maximum(&self, recorded: Recorded<'_>) -> Option<u64> {
        let counted = self.counted(recorded);
        (!self.is_short && counted.count() > 0).then(|| counted.max())
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
        let (mut durations, mut lengths) = (Histogram::default(), Lengths::default());
        calls.iter().chain(blurred).for_each(|length| durations.record(length * MILLISECOND));
        blurred.iter().for_each(|length| lengths.blur(length * MILLISECOND));
        let sum = calls.iter().chain(blurred).sum::<u64>() * MILLISECOND;
        let recorded = Recorded { durations: &durations, sum, estimated_calls };
        lengths.judge(recorded, &ticks);
        let figures = [lengths.average(recorded), lengths.percentile(recorded, 50.0), lengths.maximum(recorded)];
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
