//! How long calls of probed methods took, lately and before, and which of them were slow.

use std::time::{Duration, Instant};

use metrics::Durations;
use rustc_hash::FxHashMap;

use super::threshold::learnt;

/// Suspicion rests on the calls of the last minute: half of it has always passed, ...
const HALF: Duration = Duration::from_secs(30);
/// ... and earlier calls say what is usual.
const MOST_BEFORE: u64 = 1_000_000;
/// Fewer slow calls are no reason to suspect a method.
const LEAST_SLOW: u64 = 3;
/// Slow calls of two methods that differ in time by less may be the same ones, of a method and of its caller.
const SAME_CALLS: f64 = 0.9;
/// Probes that are watched at most. Lengths take some 4 KB each.
const MOST_PROBES: usize = 10_000;

/// Lengths of calls by the numbers of their records.
#[derive(Debug)]
pub(crate) struct Lengths {
    by_number: FxHashMap<u32, OfNumber>,
    began: Instant,
    half_began: Instant,
}

/// Calls under one number: at one level, inside one context.
#[derive(Debug, Default)]
struct OfNumber {
    before: Durations,
    last_half: Durations,
    this_half: Durations,
}

/// Calls of a probe of which some were slow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SlowCalls {
    /// The number of the records.
    pub(crate) number: u32,
    /// Calls in the last minute, and those of them that were slow.
    pub(crate) calls: u64,
    pub(crate) slow: u64,
    /// From which length on calls are slow, in nanoseconds, and whether that was learnt from earlier calls.
    pub(crate) slower_than: u64,
    pub(crate) is_learnt: bool,
    /// The usual length: the median.
    pub(crate) median: u64,
    pub(crate) longest: u64,
    /// How long the slow calls took together.
    pub(crate) slow_time: u64,
}

/// From which length on calls of a probe are slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowFrom {
    /// In nanoseconds.
    Stated(u64),
    /// As earlier calls say.
    Learnt,
}

impl Lengths {
    /// No call is known yet.
    pub(crate) fn new(now: Instant) -> Lengths {
        Lengths { by_number: FxHashMap::default(), began: now, half_began: now }
    }

    /// Adds calls since the last time.
    pub(crate) fn add(&mut self, lengths: FxHashMap<usize, Durations>, now: Instant) {
        if now.saturating_duration_since(self.half_began) >= HALF {
            self.half_began = now;
            self.by_number.values_mut().for_each(OfNumber::turn);
            // Numbers are never given again: those of claims that have ended make room.
            if self.by_number.len() > MOST_PROBES / 2 {
                self.by_number.retain(|_, of| of.last_half.count() > 0);
            }
        }
        for (number, durations) in lengths {
            let Ok(number) = u32::try_from(number) else { continue };
            if self.by_number.len() < MOST_PROBES || self.by_number.contains_key(&number) {
                self.by_number.entry(number).or_default().this_half.add(&durations);
            }
        }
    }

    /// For how long calls have been watched.
    pub(crate) fn watched_for(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.began)
    }

    /// The numbers that had calls in the last minute.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.by_number.iter().filter(|(_, of)| of.lately().count() > 0).map(|(number, _)| *number)
    }

    /// Returns from which length on calls under a number are slow, as earlier ones say.
    pub(crate) fn learnt_limit(&self, number: u32) -> Option<u64> {
        self.by_number.get(&number)?.learnt_limit()
    }

    /// Returns the probes with slow calls in the last minute, those first whose slow calls took most time, but of those that took about as much the one with the
    /// longest call: slow calls of a method are slow calls of its callers, too, and each of these takes longer. `slow_from` says of each number from which length on
    /// its calls are slow; numbers of which it says nothing are left out.
    pub(crate) fn slow_calls(&self, slow_from: impl Fn(u32) -> Option<SlowFrom>) -> Vec<SlowCalls> {
        let found = self.by_number.iter().filter_map(|(number, of)| of.slow_calls(*number, slow_from(*number)?));
        let mut found: Vec<SlowCalls> = found.collect();
        found.sort_by_key(|slow| (std::cmp::Reverse(slow.slow_time), slow.number));
        let most = found.first().map_or(0, |first| first.slow_time);
        let near = found.iter().enumerate().take_while(|(_, slow)| slow.slow_time as f64 >= most as f64 * SAME_CALLS);
        let outermost = near.max_by_key(|(at, slow)| (slow.longest, std::cmp::Reverse(*at))).map(|(at, _)| at);
        if let Some(up_to) = outermost.and_then(|at| found.get_mut(..=at)) {
            up_to.rotate_right(1);
        }
        found
    }
}

impl OfNumber {
    fn turn(&mut self) {
        self.before.add(&self.last_half);
        self.last_half = std::mem::take(&mut self.this_half);
        if self.before.count() > MOST_BEFORE {
            self.before.halve();
        }
    }

    fn lately(&self) -> Durations {
        let mut lately = self.last_half.clone();
        lately.add(&self.this_half);
        lately
    }

    fn learnt_limit(&self) -> Option<u64> {
        let of = |durations: &Durations| learnt(&durations.by_length().collect::<Vec<_>>());
        of(&self.before).or_else(|| of(&self.lately()))
    }

    fn slow_calls(&self, number: u32, slow_from: SlowFrom) -> Option<SlowCalls> {
        let lately = self.lately();
        let slower_than = match slow_from {
            SlowFrom::Stated(nanos) => nanos,
            SlowFrom::Learnt => self.learnt_limit()?,
        };
        let usual = if self.before.count() > 0 { &self.before } else { &lately };
        let median = (usual.percentile(50.0) * 1e9).round() as u64;
        let slow_ones = lately.by_length().filter(|(length, _)| *length >= slower_than);
        let (slow, time) = slow_ones.fold((0, 0_u64), |(slow, time), (length, count)| {
            (slow + count, time.saturating_add(length.saturating_mul(count)))
        });
        (slow >= LEAST_SLOW).then(|| SlowCalls {
            number,
            calls: lately.count(),
            slow,
            slower_than,
            is_learnt: slow_from == SlowFrom::Learnt,
            median,
            longest: lately.max(),
            slow_time: time,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn calls(number: usize, lengths: &[(u64, u64)]) -> FxHashMap<usize, Durations> {
        let mut durations = Durations::default();
        for (nanos, count) in lengths {
            (0..*count).for_each(|_| durations.record(*nanos));
        }
        [(number, durations)].into_iter().collect()
    }

    #[test]
    fn calls_above_a_stated_length_are_slow_and_those_that_took_most_time_come_first() {
        let begin = Instant::now();
        let mut lengths = Lengths::new(begin);
        lengths.add(calls(1, &[(2 * MS, 90), (700 * MS, 10)]), begin);
        lengths.add(calls(2, &[(2 * MS, 90), (900 * MS, 10)]), begin);
        lengths.add(calls(3, &[(2 * MS, 90), (900 * MS, 2)]), begin);
        let found = lengths.slow_calls(|_| Some(SlowFrom::Stated(500 * MS)));
        let figures: Vec<_> = found.iter().map(|slow| (slow.number, slow.calls, slow.slow)).collect();
        assert_eq!(figures, [(2, 100, 10), (1, 100, 10)], "two slow calls are no reason for suspicion");
        let time = found[0].slow_time as f64 / (10.0 * 900.0 * MS as f64);
        assert!((time - 1.0).abs() < 0.03, "{time}");
        assert!(!found[0].is_learnt && found[0].median.abs_diff(2 * MS) < MS / 10 && found[0].longest == 900 * MS);
        assert!(lengths.slow_calls(|number| (number == 9).then_some(SlowFrom::Learnt)).is_empty());
    }

    #[test]
    fn of_methods_whose_slow_calls_are_the_same_the_outermost_comes_first() {
        let begin = Instant::now();
        let mut lengths = Lengths::new(begin);
        // Each call of 2 is within one of 1, but for one more that is within another method.
        lengths.add(calls(1, &[(900 * MS, 10)]), begin);
        lengths.add(calls(2, &[(880 * MS, 11)]), begin);
        lengths.add(calls(3, &[(5_000 * MS, 1), (600 * MS, 3)]), begin);
        let found = lengths.slow_calls(|_| Some(SlowFrom::Stated(500 * MS)));
        let numbers: Vec<u32> = found.iter().map(|slow| slow.number).collect();
        assert_eq!(numbers, [1, 2, 3], "a long call is not enough");
    }

    #[test]
    fn what_is_usual_is_learnt_from_earlier_calls() {
        let begin = Instant::now();
        let mut lengths = Lengths::new(begin);
        lengths.add(calls(1, &[(10 * MS, 200), (11 * MS, 50)]), begin);
        assert!(lengths.slow_calls(|_| Some(SlowFrom::Learnt)).is_empty());
        lengths.add(FxHashMap::default(), begin + HALF);
        // Then all calls are slow: earlier ones say so.
        lengths.add(calls(1, &[(100 * MS, 50)]), begin + HALF * 2);
        let found = lengths.slow_calls(|_| Some(SlowFrom::Learnt));
        assert_eq!(found.iter().map(|slow| (slow.slow, slow.calls)).collect::<Vec<_>>(), [(50, 50)]);
        assert!(found[0].is_learnt && found[0].slower_than < 20 * MS, "{found:?}");
        // A minute later they are no reason for suspicion any more.
        lengths.add(FxHashMap::default(), begin + HALF * 3);
        lengths.add(FxHashMap::default(), begin + HALF * 4);
        assert!(lengths.slow_calls(|_| Some(SlowFrom::Learnt)).is_empty());
        assert_eq!(lengths.numbers().count(), 0);
    }
}
