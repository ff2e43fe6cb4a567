//! How often methods at level watch are called, although their probes only record calls during which there is a tick.
//!
//! Some times a second, at random moments, the ticker says a tick that differs from itself (NaN, `java.instr.Watch`). Until the next one,
//! a millisecond later, every call that ends counts itself in a table that compiled code and this file know. Such a window is a sample.
//! Programs call in bursts, so samples scatter: what is reported of each probe is what it surely was called, and there are more samples
//! where they scatter much.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

use crate::jvm::zeroed_words;

/// Probes with higher numbers are not counted (`java.instr.Watch.COUNTED`).
const COUNTED: usize = 1 << 20;

/// This number of samples must be as good as [`GOOD`] before they are taken, ...
const MOST_SAMPLES: u32 = 100;
/// ... which is this standard error of the calls of all probes together, relative to them.
const GOOD: f64 = 0.25;
/// What a sum surely is: less this many standard errors (in 39 cases of 40).
const SURELY: f64 = 2.0;

/// For the life of the process, because compiled code knows where it is.
static COUNTS: OnceLock<Option<&'static [AtomicU64]>> = OnceLock::new();

fn counts() -> &'static [AtomicU64] {
    COUNTS.get_or_init(|| zeroed_words(COUNTED)).unwrap_or_default()
}

/// Where compiled code finds the counter of probe 0; 0 if there is no memory for them.
pub(in crate::recorder) fn address() -> i64 {
    counts().first().map_or(0, |first| std::ptr::from_ref(first) as i64)
}

/// Samples of the calls of all probes.
#[derive(Debug)]
pub(crate) struct WatchedCalls {
    counts: &'static [AtomicU64],
    samples: Mutex<Samples>,
}

#[derive(Debug, Default)]
struct Samples {
    /// How long the windows were whose calls are still in the table.
    in_table: Duration,
    number: u32,
    counted: Duration,
    by_probe: FxHashMap<u32, Rates>,
    all: Rates,
    stood_still: Duration,
}

/// Calls a second in the samples in which there were some.
#[derive(Debug, Default, Clone, Copy)]
struct Rates {
    sum: f64,
    squares: f64,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    /// Probes and the calls that they surely had while they were counted: the mean of the samples less what chance may have added.
    pub(crate) calls: Vec<(u32, u64)>,
    /// How long was counted.
    pub(crate) counted: Duration,
    /// Whether the samples agree well enough for a figure to be shown.
    pub(crate) is_certain: bool,
    /// How long the process could do nothing at all since the last time.
    pub(crate) stood_still: Duration,
}

impl Rates {
    fn add(&mut self, rate: f64) {
        self.sum += rate;
        self.squares += rate * rate;
    }

    /// The standard error of the sum of all samples.
    fn error(&self, samples: u32) -> f64 {
        let number = f64::from(samples);
        let squares = (self.squares - self.sum * self.sum / number.max(1.0)).max(0.0);
        (squares * number / (number - 1.0).max(1.0)).sqrt()
    }

    /// The mean of all samples, less what chance may have added.
    fn surely(&self, samples: u32) -> f64 {
        ((self.sum - SURELY * self.error(samples)) / f64::from(samples.max(1))).max(0.0)
    }
}

impl WatchedCalls {
    /// The calls of this process from now on.
    pub(crate) fn of_process() -> WatchedCalls {
        WatchedCalls::over(counts())
    }

    /// With these counters.
    pub(crate) fn over(counts: &'static [AtomicU64]) -> WatchedCalls {
        WatchedCalls { counts, samples: Mutex::default() }
    }

    /// The ticker has counted for so long.
    pub(crate) fn counted_for(&self, time: Duration) {
        self.samples.lock().in_table += time;
    }

    /// The process could do nothing for so long.
    pub(crate) fn stood_still_for(&self, time: Duration) {
        self.samples.lock().stood_still += time;
    }

    /// What is in the table, of the probes up to this number, is no sample.
    pub(crate) fn drop_window(&self, highest: u32) {
        self.samples.lock().in_table = Duration::ZERO;
        (0..=highest).zip(self.counts).for_each(|(_, counter)| counter.store(0, Ordering::Relaxed));
    }

    /// Forgets all samples; those of the probes up to this number are still in the table.
    pub(crate) fn forget(&self, highest: u32) {
        self.drop_window(highest);
        let mut samples = self.samples.lock();
        *samples = Samples { stood_still: samples.stood_still, ..Samples::default() };
    }

    /// Makes a sample of what is in the table, of the probes up to this number. To be called more often than windows are opened.
    pub(crate) fn collect(&self, highest: u32) {
        let mut samples = self.samples.lock();
        let time = std::mem::take(&mut samples.in_table);
        if time.is_zero() {
            return;
        }
        samples.number += 1;
        samples.counted += time;
        let mut all = 0;
        for (probe, counter) in (0..=highest).zip(self.counts) {
            // Most probes are not called in a millisecond.
            if counter.load(Ordering::Relaxed) > 0 {
                let calls = counter.swap(0, Ordering::Relaxed);
                all += calls;
                samples.by_probe.entry(probe).or_default().add(calls as f64 / time.as_secs_f64());
            }
        }
        samples.all.add(all as f64 / time.as_secs_f64());
    }

    /// Returns what was counted since the last time, if that were at least this number of samples, and more if they scatter much.
    pub(crate) fn take(&self, fewest: u32) -> Option<Seen> {
        let mut samples = self.samples.lock();
        // No call at all in a few windows says little about a program that works now and then.
        let is_good = samples.all.sum > 0.0 && samples.all.error(samples.number) <= GOOD * samples.all.sum;
        if samples.number < fewest || !(is_good || samples.number >= MOST_SAMPLES) {
            return None;
        }
        let is_certain = is_good || samples.all.sum == 0.0;
        let Samples { number, counted, by_probe, stood_still, in_table, .. } = std::mem::take(&mut *samples);
        samples.in_table = in_table;
        let surely =
            |(probe, rates): (u32, Rates)| (probe, (rates.surely(number) * counted.as_secs_f64()).round() as u64);
        let mut calls: Vec<(u32, u64)> = by_probe.into_iter().map(surely).filter(|(_, calls)| *calls > 0).collect();
        calls.sort_unstable();
        Some(Seen { calls, counted, is_certain, stood_still })
    }
}

impl Seen {
    /// Calls of each probe in `length`, if they were as frequent as while they were counted.
    pub(crate) fn calls_in(&self, length: Duration) -> impl Iterator<Item = (u32, u64)> {
        let times = length.as_secs_f64() / self.counted.as_secs_f64().max(f64::EPSILON);
        self.calls.iter().map(move |(probe, calls)| (*probe, (*calls as f64 * times) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: Duration = Duration::from_millis(1);

    /// Windows with these calls of probe 1.
    fn sampled(calls: &WatchedCalls, windows: impl IntoIterator<Item = u64>) {
        for window in windows {
            calls.counts[1].store(window, Ordering::Relaxed);
            calls.counted_for(WINDOW);
            calls.collect(2);
        }
    }

    fn over_three() -> WatchedCalls {
        WatchedCalls::over(Box::leak(Box::new([const { AtomicU64::new(0) }; 3])))
    }

    #[test]
    fn steady_calls_are_known_after_a_few_samples() {
        let calls = over_three();
        sampled(&calls, [1_000; 14]);
        assert_eq!(calls.take(15), None);
        calls.stood_still_for(WINDOW * 2);
        sampled(&calls, [1_000]);
        let seen = calls.take(15).unwrap();
        let expected =
            Seen { calls: vec![(1, 15_000)], counted: WINDOW * 15, is_certain: true, stood_still: WINDOW * 2 };
        assert_eq!(seen, expected);
        assert_eq!(seen.calls_in(Duration::from_secs(1)).collect::<Vec<_>>(), [(1, 1_000_000)]);
        sampled(&calls, [1_000; 15]);
        calls.forget(2);
        assert_eq!(calls.take(15), None);
        calls.counts[1].store(7, Ordering::Relaxed);
        calls.counted_for(WINDOW);
        calls.drop_window(2);
        sampled(&calls, [0; 99]);
        assert_eq!(calls.take(15), None);
        sampled(&calls, [0]);
        let nothing = Seen { calls: vec![], counted: WINDOW * 100, is_certain: true, stood_still: Duration::ZERO };
        assert_eq!(calls.take(15), Some(nothing));
        let java = include_str!("../../../../java-runtime/src/main/java/java/instr/Watch.java");
        assert!(java.contains("int COUNTED = 1 << 20;") && COUNTED == 1 << 20);
    }

    /// 50,000 calls each 20 ms, which take a millisecond: one window of twenty meets them, or two.
    #[test]
    fn windows_that_meet_bursts_by_chance_do_not_make_a_rate() {
        const TRUE_CALLS: u64 = 2_500_000;
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut window = || {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (random >> 33).is_multiple_of(20) { 50_000 } else { 0 }
        };
        let mut too_high = 0;
        for _ in 0..1_000 {
            let calls = over_three();
            let seen = std::iter::repeat_with(|| {
                sampled(&calls, [window()]);
                calls.take(15)
            });
            let seen = seen.flatten().find(|seen| !seen.is_certain).unwrap();
            let found = seen.calls_in(Duration::from_secs(1)).map(|(_, calls)| calls).sum::<u64>();
            too_high += u32::from(found > TRUE_CALLS);
        }
        assert!(too_high <= 40, "in {too_high} of 1000 cases");
    }
}
