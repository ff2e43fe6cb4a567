//! Which probes record more detail because their calls were slow, and until when: raised after some slow calls, lowered after enough calls or time without one.

use std::time::{Duration, Instant};

use instrument_core::level::Level;
use rustc_hash::FxHashMap;

/// When the level of a probe is raised, and when it is lowered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DetailRule {
    pub(crate) level: Level,
    /// Slow calls that raise it.
    pub(crate) after: u64,
    /// Calls without a slow one that lower it.
    pub(crate) calls: u64,
    /// Time without a slow call that lowers it; slow calls further apart do not belong together.
    pub(crate) time: Duration,
    /// Most probes that are raised at a time.
    pub(crate) methods: usize,
}

/// The calls of a probe since the last look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SeenCalls {
    pub(crate) probe: u32,
    pub(crate) calls: u64,
    /// Those of them that took as long as `slower_than`.
    pub(crate) slow: u64,
    /// In nanoseconds.
    pub(crate) slower_than: u64,
    pub(crate) rule: DetailRule,
}

/// A change of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DetailChange {
    Raise { probe: u32, level: Level, reason: String },
    Lower { probe: u32, reason: String },
}

/// What is known of the probes that had slow calls lately.
#[derive(Debug, Default)]
pub(crate) struct Details(FxHashMap<u32, Suspicion>);

#[derive(Debug)]
struct Suspicion {
    rule: DetailRule,
    slower_than: u64,
    /// Slow calls, none of which is further from the next one than the rule's time.
    slow: u64,
    last_slow: Instant,
    /// Calls since the last slow one.
    calls: u64,
    is_raised: bool,
}

impl Details {
    /// Returns from which length on calls of a raised probe are slow: what is usual is not learnt anew meanwhile.
    pub(crate) fn slower_than(&self, probe: u32) -> Option<u64> {
        self.0.get(&probe).filter(|of| of.is_raised).map(|of| of.slower_than)
    }

    /// Whether any probe is raised.
    pub(crate) fn is_any_raised(&self) -> bool {
        self.0.values().any(|of| of.is_raised)
    }

    /// Looks at the calls since the last time. `is_raised` says which probes still have the level to which they were raised: others have had theirs decided by somebody else. Probes of
    /// which `has_rule` is false are lowered.
    pub(crate) fn look(
        &mut self,
        seen: &[SeenCalls],
        now: Instant,
        is_raised: impl Fn(u32) -> bool,
        has_rule: impl Fn(u32) -> bool,
    ) -> Vec<DetailChange> {
        self.0.retain(|probe, of| !of.is_raised || is_raised(*probe));
        for calls in seen {
            self.note(calls, now);
        }
        let mut changes = Vec::new();
        self.0.retain(|probe, of| {
            let reason = if has_rule(*probe) {
                of.why_over(now)
            } else {
                Some("the configuration asks for no detail any more".to_owned())
            };
            if let Some(reason) = &reason
                && of.is_raised
            {
                changes.push(DetailChange::Lower { probe: *probe, reason: reason.clone() });
            }
            reason.is_none()
        });
        changes.extend(self.raise());
        changes
    }

    fn note(&mut self, seen: &SeenCalls, now: Instant) {
        let SeenCalls { probe, calls, slow, slower_than, rule } = *seen;
        if slow == 0 {
            if let Some(of) = self.0.get_mut(&probe) {
                (of.calls, of.rule) = (of.calls + calls, rule);
            }
            return;
        }
        let none = Suspicion { rule, slower_than, slow: 0, last_slow: now, calls: 0, is_raised: false };
        let of = self.0.entry(probe).or_insert(none);
        let is_apart = now.saturating_duration_since(of.last_slow) >= rule.time;
        let before = if is_apart { 0 } else { of.slow };
        (of.slow, of.last_slow, of.calls, of.rule) = (before + slow, now, 0, rule);
    }

    /// Those with most slow calls first, as many as there may be.
    fn raise(&mut self) -> Vec<DetailChange> {
        let mut raised = self.0.values().filter(|of| of.is_raised).count();
        let is_due = |of: &Suspicion| !of.is_raised && of.slow >= of.rule.after;
        let mut due: Vec<(u32, &mut Suspicion)> =
            self.0.iter_mut().filter(|(_, of)| is_due(of)).map(|(probe, of)| (*probe, of)).collect();
        due.sort_by_key(|(probe, of)| (std::cmp::Reverse(of.slow), *probe));
        let mut changes = Vec::new();
        for (probe, of) in due {
            if raised >= of.rule.methods {
                continue;
            }
            raised += 1;
            of.is_raised = true;
            let calls = if of.slow == 1 { "1 call".to_owned() } else { format!("{} calls", of.slow) };
            let reason = format!("{calls} took longer than {:.1} ms", of.slower_than as f64 / 1e6);
            changes.push(DetailChange::Raise { probe, level: of.rule.level, reason });
        }
        changes
    }

    /// Forgets a probe whose level cannot be raised: it needs as many slow calls again.
    pub(crate) fn forget(&mut self, probe: u32) {
        self.0.remove(&probe);
    }

    /// Forgets all, and returns the probes that are to be lowered.
    pub(crate) fn end(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.0).into_iter().filter(|(_, of)| of.is_raised).map(|(probe, _)| probe).collect()
    }
}

impl Suspicion {
    fn why_over(&self, now: Instant) -> Option<String> {
        if self.calls >= self.rule.calls {
            return Some(format!("{} calls without a slow one", self.calls));
        }
        let quiet = now.saturating_duration_since(self.last_slow);
        (quiet >= self.rule.time).then(|| format!("no slow call for {} s", quiet.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: DetailRule =
        DetailRule { level: Level::Full, after: 3, calls: 100, time: Duration::from_secs(60), methods: 2 };

    /// One after the other: seconds, probe, calls, slow ones. Returns the changes as `3: +7` and `5: -7`.
    fn changes(details: &mut Details, looks: &[(u64, u32, u64, u64)]) -> Vec<String> {
        let start = Instant::now();
        let look = |(second, probe, calls, slow): &(u64, u32, u64, u64)| {
            let seen = SeenCalls { probe: *probe, calls: *calls, slow: *slow, slower_than: 5_000_000, rule: RULE };
            let changes = details.look(&[seen], start + Duration::from_secs(*second), |_| true, |_| true);
            let text = |change: &DetailChange| match change {
                DetailChange::Raise { probe, .. } => format!("{second}: +{probe}"),
                DetailChange::Lower { probe, .. } => format!("{second}: -{probe}"),
            };
            changes.iter().map(text).collect::<Vec<_>>()
        };
        looks.iter().flat_map(look).collect()
    }

    #[test]
    fn a_probe_is_raised_after_some_slow_calls_and_lowered_after_enough_without_one() {
        let looks = [
            (0, 7, 10, 2),
            (1, 7, 90, 0),
            (2, 7, 1, 1),
            (3, 7, 99, 0),
            (4, 7, 50, 1),
            (5, 7, 99, 0),
            (6, 7, 1, 0),
            (7, 7, 10, 2),
            (8, 7, 10, 1),
        ];
        assert_eq!(changes(&mut Details::default(), &looks), ["2: +7", "6: -7", "8: +7"]);
    }

    #[test]
    fn slow_calls_that_are_far_apart_raise_nothing_and_a_quiet_probe_is_lowered() {
        let looks = [(0, 7, 1, 2), (60, 7, 1, 1), (61, 7, 1, 2), (120, 8, 1, 0), (121, 8, 1, 0)];
        assert_eq!(changes(&mut Details::default(), &looks), ["61: +7", "121: -7"]);
    }

    #[test]
    fn only_some_are_raised_at_a_time() {
        let looks = [(0, 1, 5, 3), (0, 2, 5, 3), (0, 3, 5, 4), (1, 1, 100, 0), (2, 2, 1, 0)];
        assert_eq!(changes(&mut Details::default(), &looks), ["0: +1", "0: +2", "1: -1", "1: +3"]);
    }

    #[test]
    fn what_somebody_else_decides_is_left_to_them() {
        let mut details = Details::default();
        let now = Instant::now();
        let seen = SeenCalls { probe: 7, calls: 5, slow: 5, slower_than: 5_000_000, rule: RULE };
        let raised = details.look(&[seen], now, |_| true, |_| true);
        let reason = "5 calls took longer than 5.0 ms".to_owned();
        assert_eq!(raised, [DetailChange::Raise { probe: 7, level: Level::Full, reason }]);
        assert_eq!((details.slower_than(7), details.slower_than(8)), (Some(5_000_000), None));
        assert_eq!(details.look(&[], now, |_| false, |_| true), [], "its level was set by request");
        assert!(details.end().is_empty());
        details.look(&[seen], now, |_| true, |_| true);
        let lowered = details.look(&[], now, |_| true, |_| false);
        assert!(matches!(&lowered[..], [DetailChange::Lower { probe: 7, reason }] if reason.contains("configuration")));
        assert!(!details.is_any_raised());
        details.look(&[seen], now, |_| true, |_| true);
        assert_eq!(details.end(), [7]);
    }
}
