//! When a claim ends by itself.

use std::time::{Duration, Instant};

use control::ClaimLimits;
use trace::report::{count, counted, date};

use crate::health::Condition;

/// Where no limit is stated.
const DEFAULT_LIMITS: ClaimLimits = ClaimLimits {
    seconds: Some(600),
    calls: Some(1_000),
    cycles: None,
    healthy_seconds: None,
    while_healthy: false,
    while_connected: false,
};
/// The end of a claim that lasts as long has a date.
const DAY: Duration = Duration::from_secs(86_400);
/// A limit of the breaker must be exceeded at this number of looks in a row, half a second each, before a claim ends: not by one spike.
const LOOKS_EXCEEDED: u32 = 3;

/// The end of a claim: whichever is reached first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expiry {
    limits: ClaimLimits,
    began: Instant,
    /// The CPU time of the process at which its cycles are used up.
    last_cpu_time: Option<Duration>,
    /// Whether the client that the claim depends on has disconnected.
    client_left: bool,
}

/// What is known when it is checked whether a claim has ended.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) now: Instant,
    /// Calls that were recorded for the claim.
    pub(crate) calls: u64,
    /// CPU time of the process.
    pub(crate) cpu_time: Duration,
    /// How the application is.
    pub(crate) condition: Option<Condition>,
}

impl Expiry {
    /// Ends at the first of these limits; without any, after 10 minutes or 1,000 calls. `last_cpu_time` is the limit of cycles as CPU time of
    /// the process.
    pub(crate) fn new(limits: ClaimLimits, now: Instant, last_cpu_time: Option<Duration>) -> Expiry {
        let limits = if limits == ClaimLimits::default() { DEFAULT_LIMITS } else { limits };
        Expiry::exactly(limits, now, last_cpu_time)
    }

    /// The same, but without any limit it never ends by itself.
    pub(crate) fn exactly(limits: ClaimLimits, now: Instant, last_cpu_time: Option<Duration>) -> Expiry {
        Expiry { limits, began: now, last_cpu_time, client_left: false }
    }

    /// Notes that the client has disconnected.
    pub(crate) fn note_client_left(&mut self) {
        self.client_left = true;
    }

    /// Returns why the claim has ended, if it has.
    pub(crate) fn reached(&self, progress: &Progress) -> Option<&'static str> {
        let Progress { now, calls, cpu_time, condition } = *progress;
        let Expiry { limits, began, last_cpu_time, client_left } = *self;
        if limits.while_connected && client_left {
            return Some("its client has disconnected");
        }
        if limits.seconds.is_some_and(|seconds| now.saturating_duration_since(began) >= Duration::from_secs(seconds)) {
            return Some("its time is over");
        }
        if limits.calls.is_some_and(|most| calls >= most) {
            return Some("its calls have been recorded");
        }
        if last_cpu_time.is_some_and(|last| cpu_time >= last) {
            return Some("its processor cycles have been used");
        }
        match condition {
            Some(Condition::Exceeded(looks)) if limits.while_healthy && looks >= LOOKS_EXCEEDED => {
                Some("the application is in trouble")
            }
            Some(Condition::Healthy(since)) => {
                let healthy = now.saturating_duration_since(since.max(began));
                let wanted = limits.healthy_seconds.map(Duration::from_secs)?;
                (healthy >= wanted).then_some("the application has been healthy for its time")
            }
            _ => None,
        }
    }

    /// Returns when the claim ends by itself, in words, its time as what is left of it; `None` if it does not end by itself.
    pub(crate) fn text(&self, now: Instant) -> Option<String> {
        let elapsed = now.saturating_duration_since(self.began);
        self.text_with(|time| format!("in {} s", time.saturating_sub(elapsed).as_secs()))
    }

    /// The same, its time as a moment of a claim that has begun now. `clock` is the time since 1970.
    pub(crate) fn text_of_new(&self, clock: Duration) -> Option<String> {
        self.text_with(|time| {
            let date = date(u64::try_from(clock.saturating_add(time).as_nanos()).unwrap_or(u64::MAX));
            let of_day = date.split_once(' ').map_or(&*date, |(_, of_day)| of_day);
            format!("at {}", if time < DAY { of_day } else { &date })
        })
    }

    fn text_with(&self, time: impl FnOnce(Duration) -> String) -> Option<String> {
        let ClaimLimits { seconds, calls, cycles, healthy_seconds, while_healthy, while_connected } = self.limits;
        let ends = [
            seconds.map(|seconds| time(Duration::from_secs(seconds))),
            calls.map(|calls| format!("after {}", counted(calls, "call"))),
            cycles.map(|cycles| format!("after {} processor cycles of the process", count(cycles))),
            healthy_seconds.map(|seconds| format!("when the application has been healthy for {seconds} s")),
            while_healthy.then(|| "when the application is in trouble".to_owned()),
            while_connected.then(|| "when its client disconnects".to_owned()),
        ];
        let ends: Vec<String> = ends.into_iter().flatten().collect();
        (!ends.is_empty()).then(|| ends.join(" or "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOURS: Duration = Duration::from_secs(100_000);

    fn progress(now: Instant, calls: u64) -> Progress {
        Progress { now, calls, cpu_time: Duration::ZERO, condition: None }
    }

    #[test]
    fn what_is_reached_first_ends_it_and_a_stated_limit_replaces_both_defaults() {
        let now = Instant::now();
        let at = |seconds, calls| progress(now + Duration::from_secs(seconds), calls);
        let by_default = Expiry::new(ClaimLimits::default(), now, None);
        assert_eq!(by_default.reached(&at(599, 999)), None);
        assert_eq!(by_default.text(now + Duration::from_secs(1)).unwrap(), "in 599 s or after 1,000 calls");
        assert_eq!(by_default.reached(&at(600, 0)), Some("its time is over"));
        assert_eq!(by_default.reached(&at(0, 1_000)), Some("its calls have been recorded"));
        let timed = Expiry::new(ClaimLimits { seconds: Some(5), ..ClaimLimits::default() }, now, None);
        assert_eq!((timed.reached(&at(4, 5_000_000)), timed.reached(&at(5, 0))), (None, Some("its time is over")));
        let counted = Expiry::new(ClaimLimits { calls: Some(3), ..ClaimLimits::default() }, now, None);
        assert_eq!((counted.reached(&at(100_000, 2)), counted.reached(&at(0, 3)).is_some()), (None, true));
        let never = Expiry::exactly(ClaimLimits::default(), now, None);
        assert_eq!((never.reached(&at(100_000, 5_000_000)), never.text(now)), (None, None));
        // 2023-11-14 22:13:20 UTC.
        let of_new = |expiry: Expiry| expiry.text_of_new(Duration::from_secs(1_700_000_000));
        assert_eq!(of_new(by_default).unwrap(), "at 22:23:20 UTC or after 1,000 calls");
        let long = Expiry::new(ClaimLimits { seconds: Some(86_400), ..ClaimLimits::default() }, now, None);
        assert_eq!((of_new(long).unwrap().as_str(), of_new(never)), ("at 2023-11-15 22:13:20 UTC", None));
    }

    #[test]
    fn cycles_are_those_that_the_process_has_used() {
        let now = Instant::now();
        let limits = ClaimLimits { cycles: Some(5_000_000_000), ..ClaimLimits::default() };
        let expiry = Expiry::new(limits, now, Some(Duration::from_secs(12)));
        let used = |seconds| Progress { cpu_time: Duration::from_secs(seconds), ..progress(now + HOURS, 5_000_000) };
        assert_eq!(expiry.reached(&used(11)), None);
        assert_eq!(expiry.reached(&used(12)), Some("its processor cycles have been used"));
        assert_eq!(expiry.text(now).unwrap(), "after 5,000,000,000 processor cycles of the process");
    }

    #[test]
    fn trouble_ends_it_after_several_looks_in_a_row_and_a_spike_does_not() {
        let now = Instant::now();
        let expiry = Expiry::new(ClaimLimits { while_healthy: true, ..ClaimLimits::default() }, now, None);
        let after =
            |condition| expiry.reached(&Progress { condition: Some(condition), ..progress(now + HOURS, 5_000_000) });
        assert_eq!(after(Condition::Healthy(now)), None);
        assert_eq!((after(Condition::Exceeded(1)), after(Condition::Exceeded(2))), (None, None));
        assert_eq!(after(Condition::Exceeded(3)), Some("the application is in trouble"));
        assert_eq!(expiry.reached(&progress(now + HOURS, 0)), None, "nobody has looked yet");
    }

    #[test]
    fn a_time_of_health_counts_without_interruption_and_from_the_beginning_of_the_claim() {
        let begin = Instant::now();
        let limits = ClaimLimits { healthy_seconds: Some(60), ..ClaimLimits::default() };
        let expiry = Expiry::new(limits, begin + Duration::from_secs(100), None);
        let at = |second, condition| {
            expiry.reached(&Progress {
                condition: Some(condition),
                ..progress(begin + Duration::from_secs(second), 5_000_000)
            })
        };
        assert_eq!(at(159, Condition::Healthy(begin)), None, "what was before does not count");
        assert_eq!(at(160, Condition::Healthy(begin)), Some("the application has been healthy for its time"));
        assert_eq!(at(160, Condition::Exceeded(1)), None);
        let again = begin + Duration::from_secs(150);
        assert_eq!(at(209, Condition::Healthy(again)), None, "one look in trouble, and the time begins anew");
        assert!(at(210, Condition::Healthy(again)).is_some());
    }

    #[test]
    fn a_claim_that_depends_on_its_client_ends_with_it() {
        let now = Instant::now();
        let mut expiry = Expiry::new(ClaimLimits { while_connected: true, ..ClaimLimits::default() }, now, None);
        assert_eq!(expiry.reached(&progress(now + HOURS, 5_000_000)), None);
        assert_eq!(expiry.text(now).unwrap(), "when its client disconnects");
        expiry.note_client_left();
        assert_eq!(expiry.reached(&progress(now, 0)), Some("its client has disconnected"));
    }
}
