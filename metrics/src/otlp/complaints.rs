//! What people are told of a receiver that does not take what it is sent: when that begins, when the reason is another one, now and then
//! while it lasts, and when it is over.

use std::time::{Duration, Instant};

use control::Failing;
use parking_lot::Mutex;

/// The same reason is not told again before.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// Another one is told sooner at first; then ever later, because a receiver may fail in two ways in turn for weeks.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// Whether the receiver takes what it is sent.
#[derive(Debug, Default)]
pub(crate) struct Complaints {
    trouble: Mutex<Option<Trouble>>,
}

/// A receiver that has failed since it last worked.
#[derive(Debug)]
struct Trouble {
    since: Instant,
    reason: String,
    attempts: u64,
    told: Told,
}

/// What was said last.
#[derive(Debug)]
struct Told {
    at: Instant,
    reason: String,
    attempts: u64,
    /// How long another reason has to wait.
    pause: Duration,
}

impl Complaints {
    /// An attempt failed. What is to be said about it.
    pub(super) fn failed(&self, reason: &str, now: Instant) -> Option<String> {
        let mut trouble = self.trouble.lock();
        let Some(trouble) = &mut *trouble else {
            let told = Told { at: now, reason: reason.to_owned(), attempts: 1, pause: FIRST_PAUSE };
            *trouble = Some(Trouble { since: now, reason: reason.to_owned(), attempts: 1, told });
            return Some(format!("{reason}; figures are dropped while that lasts"));
        };
        trouble.attempts += 1;
        reason.clone_into(&mut trouble.reason);
        let is_same = trouble.told.reason == reason;
        let pause = if is_same { LONGEST_PAUSE } else { trouble.told.pause };
        if now.saturating_duration_since(trouble.told.at) < pause {
            return None;
        }
        let more = trouble.attempts - trouble.told.attempts;
        let times = if more == 1 { "once more".to_owned() } else { format!("{more} times more") };
        let news = if is_same { format!("{reason}, {times}") } else { format!("now {reason} (failed {times})") };
        let pause = (trouble.told.pause * 2).min(LONGEST_PAUSE);
        trouble.told = Told { at: now, reason: reason.to_owned(), attempts: trouble.attempts, pause };
        Some(format!("{news}; figures are dropped while that lasts"))
    }

    /// An attempt succeeded. What is to be said if others had failed before.
    pub(super) fn succeeded(&self, now: Instant) -> Option<String> {
        let trouble = self.trouble.lock().take()?;
        let seconds = now.saturating_duration_since(trouble.since).as_secs_f64();
        Some(format!("it takes figures again, after {seconds:.0} s and {} failures", trouble.attempts))
    }

    /// How it stands, if the last attempt failed.
    pub(crate) fn failing(&self) -> Option<Failing> {
        let trouble = self.trouble.lock();
        let trouble = trouble.as_ref()?;
        let Trouble { since, reason, attempts, .. } = trouble;
        Some(Failing { reason: reason.clone(), attempts: *attempts, seconds: since.elapsed().as_secs_f64() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_another_reason_and_the_end_are_told_and_the_same_only_now_and_then() {
        let (complaints, begin) = (Complaints::default(), Instant::now());
        let at = |seconds| begin + Duration::from_secs(seconds);
        assert_eq!(complaints.succeeded(at(0)), None);
        let first = complaints.failed("refused", at(1)).unwrap();
        assert_eq!(first, "refused; figures are dropped while that lasts");
        assert_eq!(complaints.failed("refused", at(2)), None);
        assert_eq!(complaints.failed("it answers 401", at(3)), None, "not at once");
        let other = complaints.failed("it answers 401", at(6)).unwrap();
        assert!(other.starts_with("now it answers 401 (failed 3 times more)"), "{other}");
        assert_eq!(complaints.failed("it answers 401", at(65)), None);
        let again = complaints.failed("it answers 401", at(66)).unwrap();
        assert!(again.starts_with("it answers 401, 2 times more"), "{again}");
        assert_eq!(complaints.failing().map(|failing| failing.attempts), Some(6));
        let over = complaints.succeeded(at(71)).unwrap();
        assert_eq!(over, "it takes figures again, after 70 s and 6 failures");
        assert_eq!((complaints.succeeded(at(72)), complaints.failing()), (None, None));
        assert!(complaints.failed("refused", at(73)).is_some(), "a new trouble is told at once");
    }

    #[test]
    fn two_reasons_in_turn_do_not_fill_the_log() {
        let (complaints, begin) = (Complaints::default(), Instant::now());
        let at = |second| {
            complaints.failed(["refused", "it answers 503"][second as usize % 2], begin + Duration::from_secs(second))
        };
        let told = (0..3_600).filter(|second| at(*second).is_some()).count();
        assert!((50..70).contains(&told), "{told} lines in an hour");
    }
}
