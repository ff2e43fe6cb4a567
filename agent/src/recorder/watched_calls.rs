//! How often methods at level watch are called, although their probes only tell of calls that a tick meets.
//!
//! Some times a second the ticker says a tick that differs from itself (NaN, `java.instr.Watch`). Until the next one, a
//! millisecond later, every call that ends counts itself in a table that compiled code and this file know.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::jvm::zeroed_words;

/// Probes with higher numbers are not counted (`java.instr.Watch.COUNTED`).
const COUNTED: usize = 1 << 20;

/// For the life of the process, because compiled code knows where it is.
static COUNTS: OnceLock<Option<&'static [AtomicU64]>> = OnceLock::new();

fn counts() -> &'static [AtomicU64] {
    COUNTS.get_or_init(|| zeroed_words(COUNTED)).unwrap_or_default()
}

/// Where compiled code finds the counter of probe 0; 0 if there is no memory for them.
pub(super) fn address() -> i64 {
    counts().first().map_or(0, |first| std::ptr::from_ref(first) as i64)
}

/// Calls that were counted, and how long.
#[derive(Debug)]
pub(crate) struct WatchedCalls {
    counts: &'static [AtomicU64],
    times: Mutex<Times>,
}

#[derive(Debug, Default)]
struct Times {
    counted: Duration,
    stood_still: Duration,
}

/// What was counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Probes and their calls.
    pub(crate) calls: Vec<(u32, u64)>,
    /// How long was counted.
    pub(crate) counted: Duration,
    /// How long the process could do nothing at all since the last time.
    pub(crate) stood_still: Duration,
}

impl WatchedCalls {
    /// The calls of this process from now on.
    pub(crate) fn of_process() -> WatchedCalls {
        WatchedCalls::over(counts())
    }

    /// With these counters.
    pub(crate) fn over(counts: &'static [AtomicU64]) -> WatchedCalls {
        WatchedCalls { counts, times: Mutex::default() }
    }

    /// The ticker has counted for so long.
    pub(crate) fn counted_for(&self, time: Duration) {
        self.times.lock().counted += time;
    }

    /// The process could do nothing for so long.
    pub(crate) fn stood_still_for(&self, time: Duration) {
        self.times.lock().stood_still += time;
    }

    /// What was counted up to now, of the probes up to this number, is worthless.
    pub(crate) fn forget(&self, highest: u32) {
        let mut times = self.times.lock();
        times.counted = Duration::ZERO;
        (0..=highest).zip(self.counts).for_each(|(_, counter)| counter.store(0, Ordering::Relaxed));
    }

    /// What was counted since the last time, of the probes up to this number, if that was at least for so long.
    pub(crate) fn take(&self, at_least: Duration, highest: u32) -> Option<Seen> {
        let mut times = self.times.lock();
        if times.counted < at_least {
            return None;
        }
        let Times { counted, stood_still } = std::mem::take(&mut *times);
        let counters = (0..=highest).zip(self.counts);
        let calls = counters.map(|(probe, counter)| (probe, counter.swap(0, Ordering::Relaxed)));
        Some(Seen { calls: calls.filter(|(_, calls)| *calls > 0).collect(), counted, stood_still })
    }
}

impl Seen {
    /// Calls of each probe in `length`, if they came as they did while they were counted.
    pub(crate) fn calls_in(&self, length: Duration) -> impl Iterator<Item = (u32, u64)> {
        let times = length.as_secs_f64() / self.counted.as_secs_f64().max(f64::EPSILON);
        self.calls.iter().map(move |(probe, calls)| (*probe, (*calls as f64 * times) as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_kept_until_enough_was_counted_and_stand_for_the_rest() {
        let counts: &'static [AtomicU64] = Box::leak(Box::new([0, 1, 0, 2, 7].map(AtomicU64::new)));
        let (calls, enough) = (WatchedCalls::over(counts), Duration::from_micros(200));
        calls.counted_for(Duration::from_micros(100));
        assert_eq!(calls.take(enough, 3), None);
        calls.counted_for(Duration::from_micros(100));
        let seen = calls.take(enough, 3).unwrap();
        assert_eq!(seen, Seen { calls: vec![(1, 1), (3, 2)], counted: enough, stood_still: Duration::ZERO });
        assert_eq!(seen.calls_in(Duration::from_millis(1)).collect::<Vec<_>>(), [(1, 5), (3, 10)]);
        assert_eq!(calls.take(enough, 3), None);
        calls.counted_for(enough);
        calls.stood_still_for(enough * 2);
        calls.forget(4);
        assert_eq!(calls.take(enough, 4), None);
        assert_eq!(
            calls.take(Duration::ZERO, 4).map(|seen| (seen.calls, seen.stood_still)),
            Some((vec![], enough * 2))
        );
        let java = include_str!("../../../java-runtime/src/main/java/java/instr/Watch.java");
        assert!(java.contains("int COUNTED = 1 << 20;") && COUNTED == 1 << 20);
    }
}
