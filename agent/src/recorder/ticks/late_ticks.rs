//! Late ticks of level watch: where recorded lengths of calls may be far off ([`WatchedLengths`]). The recording has them as events, and
//! the figures of the running program go by the same rule.

use std::sync::Arc;
use std::time::Duration;

use records::SharedLengths;
use trace::TICK_LIMIT;

use super::tick_pace;
use crate::recorder::jvm_events::jvm_event_queue::{JvmEvent, JvmEventQueue};

/// Waking up takes so long now and then; that is not late.
const ALWAYS_ALLOWED: u64 = 250_000;

/// Notes each tick that is later than the pace allows.
#[derive(Debug)]
pub(crate) struct LateTicks {
    lengths: SharedLengths,
    events: Option<Arc<JvmEventQueue>>,
    /// Nanoseconds from tick to tick that are not late.
    limit: u64,
}

impl LateTicks {
    /// Notes late ticks in `lengths` and as events.
    pub(crate) fn new(lengths: SharedLengths, events: Option<Arc<JvmEventQueue>>) -> LateTicks {
        LateTicks { lengths, events, limit: 0 }
    }

    /// From now on, the next tick follows within this time unless it is late. The limit only grows, and in few steps, because each is
    /// a setting in the recording.
    pub(super) fn pace(&mut self, longest: Duration) {
        let needed = limit(longest);
        if needed > self.limit {
            self.limit = needed.max((self.limit + self.limit / 2).min(limit(tick_pace::LONGEST)));
            self.lengths.lock().raise_limit(self.limit);
            self.note(JvmEvent::Setting(TICK_LIMIT, self.limit.to_string()));
        }
    }

    /// A tick followed another one; times in nanoseconds.
    pub(super) fn ticked(&mut self, last: i64, now: i64) {
        let nanos = now.wrapping_sub(last).max(0).unsigned_abs();
        if nanos > self.limit {
            let start = last.unsigned_abs();
            self.lengths.lock().add_late(start, nanos);
            self.note(JvmEvent::LateTick { start, nanos });
        }
    }

    fn note(&self, event: JvmEvent) {
        if let Some(events) = &self.events {
            events.add(event);
        }
    }
}

fn limit(longest: Duration) -> u64 {
    let nanos = u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX);
    nanos.saturating_add(nanos / 4).saturating_add(ALWAYS_ALLOWED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_later_than_the_pace_allows_is_noted() {
        let lengths = SharedLengths::default();
        let mut late = LateTicks::new(Arc::clone(&lengths), None);
        late.pace(Duration::from_millis(1));
        late.ticked(1_000_000, 2_500_000);
        assert_eq!(lengths.lock().shortest(), Some(3_000_000));
        assert!(!lengths.lock().is_blurred(1_000_000, 2_900_000));
        late.ticked(5_000_000, 9_000_000);
        assert!(lengths.lock().is_blurred(5_000_000, 7_000_000));
    }

    #[test]
    fn the_limit_grows_in_few_steps_and_never_shrinks() {
        let lengths = SharedLengths::default();
        let mut late = LateTicks::new(Arc::clone(&lengths), None);
        let mut limits = Vec::new();
        for pace in (1_000..20_000).chain((500..20_000).rev()) {
            late.pace(Duration::from_micros(pace));
            limits.push(late.limit);
        }
        limits.dedup();
        assert!(limits.len() < 10 && limits.is_sorted(), "{limits:?}");
        assert_eq!(limits.last(), Some(&limit(tick_pace::LONGEST)));
    }
}
