//! When the JVM is short of heap, probes must not make it worse: whether they may record.

use std::collections::VecDeque;
use std::time::Duration;

/// What the JVM did lately is what it did in so long a time.
const LATELY: Duration = Duration::from_secs(5);

/// How the heap is at a moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// Since the watching began.
    pub(crate) at: Duration,
    /// Collections since the start of the JVM.
    pub(crate) collections: u64,
    /// Time for which they have stopped the application since the start of the JVM.
    pub(crate) stopped: Duration,
    /// Bytes of the heap in use, as counted at the latest collection or later.
    pub(crate) used: u64,
    /// The most that the heap may become.
    pub(crate) limit: u64,
}

/// Limits in percent; 0 = none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Of the time, for collections.
    pub(crate) gc_percent: u32,
    /// Of the heap, in use after collections.
    pub(crate) heap_percent: u32,
    /// So long it must be well before the breaker closes.
    pub(crate) recovery: Duration,
}

/// A change of the breaker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// Probes must record nothing; why.
    Open(String),
    /// They may again.
    Close,
}

/// The breaker: closed while all is well.
#[derive(Debug)]
pub(crate) struct Breaker {
    limits: Limits,
    lately: VecDeque<Reading>,
    /// Why it is open.
    reason: Option<String>,
    ill_at: Duration,
    /// Readings in a row that exceeded a limit.
    exceeded: u32,
}

impl Breaker {
    /// A closed breaker.
    pub(crate) fn new(limits: Limits) -> Breaker {
        Breaker { limits, lately: VecDeque::new(), reason: None, ill_at: Duration::ZERO, exceeded: 0 }
    }

    /// Why it is open, if it is.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Returns how many readings in a row, the latest included, exceeded a limit.
    pub(crate) fn exceeded(&self) -> u32 {
        self.exceeded
    }

    /// Takes a reading; says whether something changes.
    pub(crate) fn see(&mut self, reading: Reading) -> Option<Change> {
        while self.lately.get(1).is_some_and(|second| reading.at.saturating_sub(second.at) >= LATELY) {
            self.lately.pop_front();
        }
        self.lately.push_back(reading);
        let complaint = self.complaint(&reading);
        self.exceeded = if complaint.is_some() { self.exceeded.saturating_add(1) } else { 0 };
        match (complaint, self.reason.is_some()) {
            (Some(_), true) => {
                self.ill_at = reading.at;
                None
            }
            (Some(reason), false) => {
                self.ill_at = reading.at;
                self.reason = Some(reason.clone());
                Some(Change::Open(reason))
            }
            (None, true) if reading.at.saturating_sub(self.ill_at) >= self.limits.recovery => {
                self.reason = None;
                Some(Change::Close)
            }
            (None, _) => None,
        }
    }

    /// What is wrong, once there are readings of five seconds.
    fn complaint(&self, now: &Reading) -> Option<String> {
        let first = self.lately.front().filter(|first| now.at.saturating_sub(first.at) >= LATELY)?;
        let seconds = now.at.saturating_sub(first.at).as_secs_f64();
        let stopped = 100.0 * now.stopped.saturating_sub(first.stopped).as_secs_f64() / seconds;
        if self.limits.gc_percent > 0 && stopped > f64::from(self.limits.gc_percent) {
            return Some(format!(
                "garbage collections took {stopped:.0} % of the last {seconds:.0} s, more than {} %",
                self.limits.gc_percent
            ));
        }
        // Only what collections leave says how much is really needed.
        let collected = now.collections > first.collections;
        let least = self.lately.iter().skip(1).map(|reading| reading.used).min().unwrap_or(0);
        let used = 100.0 * least as f64 / now.limit.max(1) as f64;
        let is_full = self.limits.heap_percent > 0 && used > f64::from(self.limits.heap_percent);
        (collected && is_full).then(|| {
            format!("{used:.0} % of the heap were in use after collections, more than {} %", self.limits.heap_percent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { gc_percent: 30, heap_percent: 95, recovery: Duration::from_secs(20) };

    /// One reading a second: collections, seconds stopped, percent of the heap in use.
    fn changes(limits: Limits, readings: impl IntoIterator<Item = (u64, f64, u64)>) -> Vec<(usize, Change)> {
        let mut breaker = Breaker::new(limits);
        let see = |(second, (collections, stopped, used)): (usize, (u64, f64, u64))| {
            let (at, stopped) = (Duration::from_secs(second as u64), Duration::from_secs_f64(stopped));
            Some((second, breaker.see(Reading { at, collections, stopped, used, limit: 100 })?))
        };
        readings.into_iter().enumerate().filter_map(see).collect()
    }

    fn is_open(change: &Change, part: &str) -> bool {
        matches!(change, Change::Open(reason) if reason.contains(part))
    }

    #[test]
    fn too_much_time_in_collections_opens_and_a_time_of_well_being_closes() {
        // Half of each second is stopped, for ten seconds.
        let found = changes(LIMITS, (0..50).map(|second| (second, 0.5 * second.min(10) as f64, 10)));
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].0 == 5 && is_open(&found[0].1, "50 % of the last 5 s"), "{found:?}");
        // The last five seconds are above 30 % until second 11; then 20 seconds have to pass.
        assert_eq!((found[1].0, &found[1].1), (31, &Change::Close), "{found:?}");
    }

    #[test]
    fn readings_that_exceed_a_limit_are_counted_as_long_as_they_follow_each_other() {
        let mut breaker = Breaker::new(LIMITS);
        let exceeded: Vec<u32> = (0..20)
            .map(|second| {
                let stopped = Duration::from_millis(500 * second.min(7));
                let at = Duration::from_secs(second);
                breaker.see(Reading { at, collections: second, stopped, used: 10, limit: 100 });
                breaker.exceeded()
            })
            .collect();
        assert_eq!(exceeded, [0, 0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_full_heap_counts_only_after_a_collection() {
        let full =
            |collections: fn(u64) -> u64| changes(LIMITS, (0..20).map(move |second| (collections(second), 0.0, 97)));
        assert!(full(|_| 3).is_empty(), "nothing was collected: it may all be garbage");
        let found = full(|second| second);
        assert!(found.len() == 1 && is_open(&found[0].1, "97 % of the heap"), "{found:?}");
        // One collection in the time left much less.
        assert!(changes(LIMITS, (0..20).map(|second| (second, 0.0, if second % 4 == 0 { 50 } else { 99 }))).is_empty());
    }

    #[test]
    fn a_limit_of_zero_is_none() {
        let limits = Limits { gc_percent: 0, heap_percent: 0, ..LIMITS };
        assert!(changes(limits, (0..20).map(|second| (second, second as f64, 100))).is_empty());
    }
}
