//! For how long probes were at each level: the part of the time to which figures of a running program apply if a level was changed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use instrument_core::level::Level;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// The probes whose level was changed, or that were removed.
#[derive(Debug)]
pub(crate) struct LevelTimes {
    began: Instant,
    probes: Mutex<FxHashMap<u32, ProbeTimes>>,
}

/// One probe. Times are since the session began.
#[derive(Debug)]
struct ProbeTimes {
    begin: Duration,
    /// The present level; `None` while the probe is removed.
    level: Option<Level>,
    since: Duration,
    /// The time at earlier levels.
    before: BTreeMap<Level, Duration>,
    changes: u64,
}

/// How calls of a probe were recorded. Nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct RecordedTime {
    /// In which every call was recorded.
    every_call: u64,
    /// In which calls were estimated (level watch).
    estimates: u64,
    /// Since the probe was inserted.
    whole: u64,
    changes: u64,
}

impl LevelTimes {
    /// Returns the times of a session that begins.
    pub(crate) fn new(began: Instant) -> LevelTimes {
        LevelTimes { began, probes: Mutex::default() }
    }

    /// Notes that the level of a probe is another one from now on. The probe was inserted at `begin`.
    pub(crate) fn change(&self, probe: u32, begin: Duration, from: Level, to: Level) {
        self.note(probe, begin, Some(from), Some(to));
    }

    /// Notes that a probe is removed.
    pub(crate) fn remove(&self, probe: u32, begin: Duration, from: Level) {
        self.note(probe, begin, Some(from), None);
    }

    /// Notes that a removed probe is inserted again.
    pub(crate) fn restore(&self, probe: u32, begin: Duration, to: Level) {
        self.note(probe, begin, None, Some(to));
    }

    fn note(&self, probe: u32, begin: Duration, from: Option<Level>, to: Option<Level>) {
        let now = self.began.elapsed();
        self.probes.lock().entry(probe).or_insert_with(|| ProbeTimes::new(begin, from)).change(to, now);
    }

    /// Returns how calls of a probe were recorded; `unchanged` are begin and level of a probe that nothing has changed.
    pub(crate) fn recorded(&self, probe: u32, unchanged: (Duration, Level)) -> RecordedTime {
        let now = self.began.elapsed();
        let (begin, level) = unchanged;
        let times = self.probes.lock();
        times.get(&probe).map_or_else(|| ProbeTimes::new(begin, Some(level)).recorded(now), |times| times.recorded(now))
    }

    /// Returns for how long a probe was at this level; `None` if its level was never changed.
    pub(crate) fn at(&self, probe: u32, level: Level) -> Option<Duration> {
        let now = self.began.elapsed();
        Some(self.probes.lock().get(&probe)?.at(level, now))
    }
}

impl ProbeTimes {
    fn new(begin: Duration, level: Option<Level>) -> ProbeTimes {
        ProbeTimes { begin, level, since: begin, before: BTreeMap::new(), changes: 0 }
    }

    fn change(&mut self, to: Option<Level>, now: Duration) {
        if let Some(level) = self.level {
            *self.before.entry(level).or_default() += now.saturating_sub(self.since);
        }
        (self.level, self.since) = (to, now);
        self.changes += 1;
    }

    fn at(&self, level: Level, now: Duration) -> Duration {
        let present = if self.level == Some(level) { now.saturating_sub(self.since) } else { Duration::ZERO };
        self.before.get(&level).copied().unwrap_or_default() + present
    }

    fn recorded(&self, now: Duration) -> RecordedTime {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        RecordedTime {
            every_call: nanos(self.at(Level::Time, now) + self.at(Level::Full, now)),
            estimates: nanos(self.at(Level::Watch, now)),
            whole: nanos(now.saturating_sub(self.begin)),
            changes: self.changes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn times_at_levels_add_up_and_a_removed_probe_has_none() {
        let mut probe = ProbeTimes::new(seconds(2), Some(Level::Time));
        let figures = |probe: &ProbeTimes, now| {
            let RecordedTime { every_call, estimates, whole, changes } = probe.recorded(seconds(now));
            [every_call, estimates, whole]
                .map(|nanos| nanos / 1_000_000_000)
                .into_iter()
                .chain([changes])
                .collect::<Vec<_>>()
        };
        assert_eq!(figures(&probe, 5), [3, 0, 3, 0]);
        probe.change(Some(Level::Watch), seconds(6));
        assert_eq!(figures(&probe, 10), [4, 4, 8, 1]);
        probe.change(None, seconds(10));
        assert_eq!(figures(&probe, 20), [4, 4, 18, 2]);
        probe.change(Some(Level::Full), seconds(20));
        probe.change(Some(Level::Burst), seconds(21));
        assert_eq!(figures(&probe, 30), [5, 4, 28, 4], "windows are not every call");
        assert_eq!(probe.at(Level::Burst, seconds(30)), seconds(9));
        assert_eq!(probe.at(Level::Time, seconds(30)), seconds(4));
    }

    #[test]
    fn only_probes_that_were_changed_have_times_at_levels() {
        let times = LevelTimes::new(Instant::now());
        assert_eq!(times.at(7, Level::Time), None);
        let unchanged = times.recorded(7, (Duration::ZERO, Level::Time));
        assert_eq!((unchanged.every_call, unchanged.changes), (unchanged.whole, 0));
        times.change(7, Duration::ZERO, Level::Time, Level::Watch);
        assert!(times.at(7, Level::Time).is_some() && times.at(7, Level::Off) == Some(Duration::ZERO));
        assert_eq!(times.recorded(7, (Duration::ZERO, Level::Time)).changes, 1);
    }
}
