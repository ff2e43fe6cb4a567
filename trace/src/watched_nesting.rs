//! Which calls were made within a call of level watch: the one rule for reports, exports and figures of the running program (decision 047).
//!
//! The records of a thread are in the order in which its calls ended. That, and the start, says which of two calls is around the other,
//! unless the outer one was recorded by ticks and the other one exactly: a watched call is recorded from the last tick before it began. An
//! exact call that started and ended before the next tick was made within the watched call or just before it.
//!
//! The rule: such a call belongs to the watched one only if calls of the same two methods were seen for certain one within the other, much
//! more often than one just before the other.

use rustc_hash::FxHashMap;

use crate::WatchedLengths;

/// Pairs of methods that are kept.
const MOST_PAIRS: usize = 100_000;
/// A thread may read a tick so many nanoseconds after its time: what is certain by less is no evidence.
const PUBLISHED_WITHIN: u64 = 20_000;
/// Calls seen within the other method must be more than so many times those seen just before it.
const MUCH_MORE_OFTEN: u64 = 8;

/// A call of one thread that has ended; times in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedCall {
    /// The recorded start; at level watch the last tick before it.
    pub start: u64,
    /// The recorded end; at level watch the last tick before it.
    pub end: u64,
    /// The call began before this moment; equal to `start` if times are exact.
    pub entered_before: u64,
    /// A number of the method.
    pub method: u32,
}

impl EndedCall {
    /// Returns a call with exact times.
    #[must_use]
    pub fn exact(start: u64, end: u64, method: u32) -> EndedCall {
        EndedCall { start, end, entered_before: start, method }
    }

    /// Returns a call of level watch.
    #[must_use]
    pub fn watched(start: u64, end: u64, method: u32, ticks: &WatchedLengths) -> EndedCall {
        EndedCall { start, end, entered_before: ticks.entered_before(start, end), method }
    }

    /// Whether the times are exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.entered_before == self.start
    }

    /// Returns whether this call was made within `outer`, which ended after it.
    #[must_use]
    pub fn placement_in(&self, outer: &EndedCall) -> Placement {
        let is_inside = match (self.is_exact(), outer.is_exact()) {
            // The start of the inner call was rounded down, perhaps to before the start of the outer one.
            (false, true) => self.start >= outer.start || self.end > outer.start,
            (true, false) if self.start >= outer.start && self.end < outer.entered_before => {
                return Placement::Unknown;
            }
            _ => self.start >= outer.start,
        };
        if is_inside { Placement::Inside } else { Placement::Beside }
    }
}

/// Where a call was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Within the other call.
    Inside,
    /// Before the other call began.
    Beside,
    /// The recording says neither.
    Unknown,
}

/// Which methods were seen within which, as far as that is certain.
#[derive(Debug, Default)]
pub struct NestingEvidence {
    pairs: FxHashMap<(u32, u32), Seen>,
}

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    inside: u64,
    just_before: u64,
}

impl NestingEvidence {
    /// Returns whether `inner` was made within `outer`, which ended after it.
    #[must_use]
    pub fn is_inside(&self, inner: &EndedCall, outer: &EndedCall) -> bool {
        match inner.placement_in(outer) {
            Placement::Inside => true,
            Placement::Beside => false,
            Placement::Unknown => self.is_likely(inner.method, outer.method),
        }
    }

    /// Returns whether a watched call may as well have been around an exact one although its recorded end is earlier. That matters only where
    /// the records are not in the order of the ends.
    #[must_use]
    pub fn may_be_reversed(&self, watched: &EndedCall, exact: &EndedCall) -> bool {
        let is_possible = !watched.is_exact() && exact.is_exact() && exact.start >= watched.start;
        is_possible && (exact.start >= watched.entered_before || self.is_likely(exact.method, watched.method))
    }

    /// Notes what is certain of these two calls. No call of the thread ended between `inner` and the first call within `outer`.
    pub fn learn(&mut self, inner: &EndedCall, outer: &EndedCall) {
        if outer.is_exact() || !inner.is_exact() {
            return;
        }
        let tick = outer.entered_before.saturating_sub(outer.start);
        let is_inside = match inner.placement_in(outer) {
            Placement::Inside if inner.end >= outer.entered_before.saturating_add(PUBLISHED_WITHIN) => true,
            Placement::Beside if inner.end.saturating_add(tick) >= outer.start => false,
            _ => return,
        };
        let pair = (outer.method, inner.method);
        if self.pairs.len() >= MOST_PAIRS && !self.pairs.contains_key(&pair) {
            return;
        }
        let seen = self.pairs.entry(pair).or_default();
        if is_inside {
            seen.inside += 1;
        } else {
            seen.just_before += 1;
        }
    }

    /// Calls [`learn`](Self::learn) and returns [`is_inside`](Self::is_inside).
    pub fn learn_and_place(&mut self, inner: &EndedCall, outer: &EndedCall) -> bool {
        self.learn(inner, outer);
        self.is_inside(inner, outer)
    }

    /// Returns whether nothing was seen that says where such a call was made.
    #[must_use]
    pub fn is_doubtful(&self, inner: &EndedCall, outer: &EndedCall) -> bool {
        inner.placement_in(outer) == Placement::Unknown
            && self.pairs.get(&(outer.method, inner.method)).is_none_or(|seen| {
                seen.inside <= MUCH_MORE_OFTEN * seen.just_before && seen.just_before <= MUCH_MORE_OFTEN * seen.inside
            })
    }

    fn is_likely(&self, inner: u32, outer: u32) -> bool {
        self.pairs.get(&(outer, inner)).is_some_and(|seen| seen.inside > MUCH_MORE_OFTEN * seen.just_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;
    const MICROSECOND: u64 = 1_000;

    fn ticks() -> WatchedLengths {
        let mut ticks = WatchedLengths::default();
        ticks.raise_limit(MILLISECOND);
        ticks
    }

    /// A call of level watch that began during the tick from 10 ms to 11 ms.
    fn watched() -> EndedCall {
        EndedCall::watched(10 * MILLISECOND, 15 * MILLISECOND, 7, &ticks())
    }

    fn exact(start_micros: u64, end_micros: u64) -> EndedCall {
        EndedCall::exact(start_micros * MICROSECOND, end_micros * MICROSECOND, 8)
    }

    #[test]
    fn only_what_fits_into_the_first_tick_is_unknown() {
        let placement = |start: u64, end: u64| exact(start, end).placement_in(&watched());
        assert_eq!(placement(9_900, 9_950), Placement::Beside);
        assert_eq!(placement(9_900, 10_100), Placement::Beside, "it started before the watched call");
        assert_eq!([placement(10_000, 10_050), placement(10_900, 10_999)], [Placement::Unknown; 2]);
        assert_eq!(placement(10_900, 11_100), Placement::Inside, "it ended after the watched call had begun");
        assert_eq!([placement(11_000, 11_050), placement(15_100, 15_200)], [Placement::Inside; 2]);
    }

    #[test]
    fn of_two_watched_calls_the_later_end_is_outside_and_a_watched_call_is_within_an_exact_one_that_covers_its_end() {
        let inner = EndedCall::watched(10 * MILLISECOND, 12 * MILLISECOND, 8, &ticks());
        assert_eq!(inner.placement_in(&watched()), Placement::Inside);
        let before = EndedCall::watched(8 * MILLISECOND, 10 * MILLISECOND, 8, &ticks());
        assert_eq!(before.placement_in(&watched()), Placement::Beside);
        assert_eq!(watched().placement_in(&exact(10_300, 15_200)), Placement::Inside);
        assert_eq!(watched().placement_in(&exact(15_100, 15_200)), Placement::Beside);
    }

    #[test]
    fn what_is_unknown_is_decided_by_what_was_seen_much_more_often() {
        let mut evidence = NestingEvidence::default();
        let unknown = exact(10_100, 10_200);
        assert!(!evidence.is_inside(&unknown, &watched()));
        evidence.learn(&unknown, &watched());
        evidence.learn(&exact(11_000, 11_010), &watched());
        assert!(!evidence.is_inside(&unknown, &watched()), "by less than a tick may be read late");
        evidence.learn(&exact(10_900, 11_100), &watched());
        assert!(evidence.is_inside(&unknown, &watched()));
        let other = EndedCall { method: 9, ..unknown };
        assert!(!evidence.is_inside(&other, &watched()), "another method");
        assert!(!evidence.is_doubtful(&unknown, &watched()) && evidence.is_doubtful(&other, &watched()));
        evidence.learn(&exact(9_800, 9_990), &watched());
        assert!(evidence.is_doubtful(&unknown, &watched()));
        assert!(!evidence.is_inside(&unknown, &watched()), "as often just before it");
        (0..8).for_each(|_| evidence.learn(&exact(12_000, 12_100), &watched()));
        assert!(evidence.is_inside(&unknown, &watched()));
    }

    #[test]
    fn after_a_late_tick_or_without_a_limit_less_is_certain() {
        let mut late = ticks();
        late.add_late(10 * MILLISECOND, 3 * MILLISECOND);
        let call = EndedCall::watched(10 * MILLISECOND, 15 * MILLISECOND, 7, &late);
        assert_eq!(exact(12_000, 12_500).placement_in(&call), Placement::Unknown);
        let call = EndedCall::watched(10 * MILLISECOND, 15 * MILLISECOND, 7, &WatchedLengths::default());
        assert_eq!(exact(14_000, 14_500).placement_in(&call), Placement::Unknown);
        assert_eq!(exact(14_000, 15_500).placement_in(&call), Placement::Inside);
    }

    #[test]
    fn pairs_take_bounded_memory() {
        let mut evidence = NestingEvidence::default();
        for method in 0..2 * MOST_PAIRS as u32 {
            evidence.learn(&EndedCall { method, ..exact(12_000, 12_100) }, &watched());
        }
        assert_eq!(evidence.pairs.len(), MOST_PAIRS);
    }
}
