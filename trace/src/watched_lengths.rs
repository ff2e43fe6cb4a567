//! Which lengths of calls the records of level watch carry: the one rule for reports, comparisons, exports and live figures.
//!
//! Such a record holds two ticks: the last one before the call began and the last one before it ended. So the recorded length is
//! off by at most one tick at each end, and that is little only for calls that last several ticks. A shorter call is recorded with the
//! length of a whole tick if a tick passes during it, and not at all otherwise: sums are right on average, single lengths are not.
//!
//! The rule: a recorded length counts from two ticks on, where a tick is the longest that is not noted as late. If the call began or
//! ended during a late tick, it counts from twice the length of that one on. What such a call took at least is its recorded length less the
//! tick during which it began.

use std::collections::BTreeMap;

/// Two clock readings of the same tick differ by less than this, ticks by much more.
const SAME_TICK: u64 = 1_000;
/// Late ticks that are kept.
const MOST_LATE: usize = 10_000;
/// The name of the setting that says from which length on a tick is noted as late.
pub const TICK_LIMIT: &str = "watch.tick-limit-ns";

/// What is known about the ticks, in nanoseconds.
#[derive(Debug, Clone, Default)]
pub struct WatchedLengths {
    /// No tick is longer, except for those noted as late; `None` if that is unknown.
    limit: Option<u64>,
    /// Start and length.
    late: BTreeMap<u64, u64>,
    longest: u64,
    /// No tick was longer at all; `None` if that is unknown.
    most: Option<u64>,
}

impl WatchedLengths {
    /// Ticks up to this length are not noted as late. Of several limits the largest holds.
    pub fn raise_limit(&mut self, nanos: u64) {
        self.limit = self.limit.max(Some(nanos));
    }

    /// The next tick followed this late after the one at `start`. Of very many late ticks the newest are kept.
    pub fn add_late(&mut self, start: u64, nanos: u64) {
        self.late.insert(start, nanos);
        self.longest = self.longest.max(nanos);
        if self.late.len() > MOST_LATE {
            self.late.pop_first();
        }
    }

    /// The same while a recording is read from its end to its start: the oldest are kept.
    pub fn add_earlier_late(&mut self, start: u64, nanos: u64) {
        self.late.insert(start, nanos);
        self.longest = self.longest.max(nanos);
        if self.late.len() > MOST_LATE {
            self.late.pop_last();
        }
    }

    /// No tick was longer than this.
    pub fn raise_longest(&mut self, nanos: u64) {
        self.longest = self.longest.max(nanos);
        self.most = self.most.max(Some(nanos));
    }

    /// No tick is longer, except for late ones; `None` if that is unknown.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// The shortest recorded length that counts; `None` if none does, because nothing is known about the ticks.
    #[must_use]
    pub fn shortest(&self) -> Option<u64> {
        self.limit.map(|limit| limit.saturating_mul(2))
    }

    /// Whether this recorded length counts, late ticks aside.
    #[must_use]
    pub fn counts(&self, nanos: u64) -> bool {
        self.shortest().is_some_and(|shortest| nanos >= shortest)
    }

    /// Returns how long the call with this record took at least: it began at the latest when the tick after `start` was published. 0 if
    /// nothing is known about the ticks.
    #[must_use]
    pub fn least(&self, start: u64, nanos: u64) -> u64 {
        self.limit.map_or(0, |limit| nanos.saturating_sub(limit.max(self.late_at(start))))
    }

    /// Returns when the call with this record had begun: before the tick after `start`, and that is not after `end`.
    #[must_use]
    pub fn entered_before(&self, start: u64, end: u64) -> u64 {
        let tick = self.limit.map(|limit| limit.max(self.late_at(start))).or(self.most);
        tick.map_or(end, |tick| end.min(start.saturating_add(tick)))
    }

    /// The same for a record that began before the part of the recording in which late ticks are known.
    #[must_use]
    pub fn may_have_entered_before(&self, start: u64, end: u64) -> u64 {
        self.most.map_or(end, |tick| end.min(start.saturating_add(tick)))
    }

    /// Whether late ticks at the start or the end make this record's length useless.
    #[must_use]
    pub fn is_blurred(&self, start: u64, nanos: u64) -> bool {
        // Most calls began after the last late tick.
        self.late.last_key_value().is_some_and(|(last, _)| start <= last.saturating_add(SAME_TICK))
            && self.may_be_blurred(nanos)
            && [start, start.saturating_add(nanos)].iter().any(|tick| nanos < self.late_at(*tick).saturating_mul(2))
    }

    /// The same for a record that began before the part of the recording in which late ticks are known.
    #[must_use]
    pub fn may_be_blurred(&self, nanos: u64) -> bool {
        nanos < self.longest.saturating_mul(2)
    }

    fn late_at(&self, tick: u64) -> u64 {
        let near = tick.saturating_sub(SAME_TICK)..=tick.saturating_add(SAME_TICK);
        self.late.range(near).map(|(_, nanos)| *nanos).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: u64 = 1_000_000;

    #[test]
    fn a_length_counts_from_two_ticks_on() {
        let mut lengths = WatchedLengths::default();
        assert!(!lengths.counts(u64::MAX), "nothing is known about the ticks");
        lengths.raise_limit(MILLISECOND);
        assert!(!lengths.counts(2 * MILLISECOND - 1) && lengths.counts(2 * MILLISECOND));
        lengths.raise_limit(20 * MILLISECOND);
        lengths.raise_limit(2 * MILLISECOND);
        assert_eq!(lengths.shortest(), Some(40 * MILLISECOND));
    }

    #[test]
    fn a_late_tick_blurs_what_began_or_ended_during_it_and_is_not_much_longer() {
        let mut lengths = WatchedLengths::default();
        lengths.raise_limit(MILLISECOND);
        lengths.add_late(100 * MILLISECOND, 30 * MILLISECOND);
        let blurred = |start: u64, length: u64| lengths.is_blurred(start * MILLISECOND + 7, length * MILLISECOND);
        assert!(blurred(100, 30), "a short call that met nothing but this tick");
        assert!(blurred(92, 8), "it ended during the late tick: the true length is up to 38 ms");
        assert!(!blurred(92, 50), "the late tick is in the middle");
        assert!(!blurred(100, 60) && !blurred(101, 8));
        assert!(lengths.may_be_blurred(59 * MILLISECOND) && !lengths.may_be_blurred(60 * MILLISECOND));
    }

    #[test]
    fn a_call_took_at_least_what_follows_the_tick_during_which_it_began() {
        let mut lengths = WatchedLengths::default();
        assert_eq!(lengths.least(0, 500 * MILLISECOND), 0, "nothing is known about the ticks");
        lengths.raise_limit(MILLISECOND);
        lengths.add_late(100 * MILLISECOND, 200 * MILLISECOND);
        let least =
            |start: u64, length: u64| lengths.least(start * MILLISECOND + 7, length * MILLISECOND) / MILLISECOND;
        assert_eq!([least(50, 1), least(50, 2), least(50, 30)], [0, 1, 29]);
        assert_eq!([least(100, 200), least(100, 230)], [0, 30], "it began during the late tick");
        assert_eq!(least(90, 210), 209, "the late tick is in the middle or at the end");
    }

    #[test]
    fn late_ticks_take_bounded_memory_in_either_direction() {
        let (mut live, mut read) = (WatchedLengths::default(), WatchedLengths::default());
        for number in 0..2 * MOST_LATE as u64 {
            live.add_late(number * MILLISECOND, 5);
            read.add_earlier_late((100_000 - number) * MILLISECOND, 5);
        }
        assert_eq!((live.late.len(), read.late.len()), (MOST_LATE, MOST_LATE));
        assert!(live.is_blurred((2 * MOST_LATE as u64 - 1) * MILLISECOND, 5));
        assert!(read.is_blurred((100_001 - 2 * MOST_LATE as u64) * MILLISECOND, 5));
    }
}
