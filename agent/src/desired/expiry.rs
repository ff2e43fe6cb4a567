//! When a claim ends by itself.

use std::time::{Duration, Instant};

/// Where neither a time nor a number of calls is stated.
const DEFAULT_TIME: Duration = Duration::from_secs(600);
const DEFAULT_CALLS: u64 = 1_000;

/// The end of a claim: whichever is reached first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expiry {
    pub(crate) deadline: Option<Instant>,
    pub(crate) calls: Option<u64>,
}

impl Expiry {
    /// Ends after this time and this number of calls; a limit that is stated replaces both defaults, 10 minutes and 1,000 calls.
    pub(crate) fn after(now: Instant, time: Option<Duration>, calls: Option<u64>) -> Expiry {
        let (time, calls) = match (time, calls) {
            (None, None) => (Some(DEFAULT_TIME), Some(DEFAULT_CALLS)),
            stated => stated,
        };
        Expiry { deadline: time.and_then(|time| now.checked_add(time)), calls }
    }

    /// Returns why the claim has ended after this number of calls, if it has.
    pub(crate) fn reached(&self, now: Instant, calls: u64) -> Option<&'static str> {
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return Some("its time is over");
        }
        self.calls.is_some_and(|most| calls >= most).then_some("its calls have been recorded")
    }

    /// Returns the seconds that are left, if there is a deadline.
    pub(crate) fn seconds_left(&self, now: Instant) -> Option<u64> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(now).as_secs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reached_first_ends_it_and_a_stated_limit_replaces_both_defaults() {
        let now = Instant::now();
        let later = |seconds| now + Duration::from_secs(seconds);
        let by_default = Expiry::after(now, None, None);
        assert_eq!((by_default.reached(later(599), 999), by_default.seconds_left(later(1))), (None, Some(599)));
        assert_eq!(by_default.reached(later(600), 0), Some("its time is over"));
        assert_eq!(by_default.reached(now, 1_000), Some("its calls have been recorded"));
        let timed = Expiry::after(now, Some(Duration::from_secs(5)), None);
        assert_eq!((timed.reached(later(4), 5_000_000), timed.reached(later(5), 0)), (None, Some("its time is over")));
        let counted = Expiry::after(now, None, Some(3));
        assert_eq!((counted.reached(later(100_000), 2), counted.reached(now, 3).is_some()), (None, true));
    }
}
