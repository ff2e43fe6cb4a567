//! For how long probes were at each level and recorded: the part of the time to which figures of a running program apply if a level was
//! changed. Time in which all probes were paused does not count.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use control::RecordedTime;
use instrument_core::level::Level;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// The probes whose level was changed, or that were removed.
#[derive(Debug)]
pub struct LevelTimes {
    began: Instant,
    noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
struct Noted {
    probes: FxHashMap<u32, ProbeTimes>,
    pauses: Pauses,
}

/// When all probes were paused: begin and end, in order. The last one has no end while they are.
#[derive(Debug, Default)]
struct Pauses(Vec<(Duration, Option<Duration>)>);

impl Pauses {
    /// Notes that all probes are paused or resumed.
    fn change(&mut self, is_on: bool, now: Duration) {
        match self.0.last_mut().filter(|(_, end)| end.is_none()) {
            Some((_, end)) if is_on => *end = Some(now),
            None if !is_on => self.0.push((now, None)),
            _ => {}
        }
    }

    /// Returns how much of the time between two moments had no pause.
    fn recorded_between(&self, begin: Duration, end: Duration) -> Duration {
        let overlap = |(paused, resumed): &(Duration, Option<Duration>)| {
            resumed.map_or(end, |resumed| resumed.min(end)).saturating_sub(begin.max(*paused))
        };
        let paused: Duration =
            self.0.iter().rev().take_while(|(_, resumed)| resumed.is_none_or(|it| it > begin)).map(overlap).sum();
        end.saturating_sub(begin).saturating_sub(paused)
    }
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

impl LevelTimes {
    /// Returns the times of a session that begins.
    pub fn new(began: Instant) -> LevelTimes {
        LevelTimes { began, noted: Mutex::default() }
    }

    /// Returns the level of a probe whose level was changed; `None` if it was not, or if the probe is removed.
    pub fn level(&self, probe: u32) -> Option<Level> {
        self.noted.lock().probes.get(&probe)?.level
    }

    /// Notes that the level of a probe is another one from now on. The probe was inserted at `begin`.
    pub fn change(&self, probe: u32, begin: Duration, from: Level, to: Level) {
        self.note(probe, begin, Some(from), Some(to));
    }

    /// Notes that a probe is removed.
    pub fn remove(&self, probe: u32, begin: Duration, from: Level) {
        self.note(probe, begin, Some(from), None);
    }

    /// Notes that a removed probe is inserted again.
    pub fn restore(&self, probe: u32, begin: Duration, to: Level) {
        self.note(probe, begin, None, Some(to));
    }

    /// Notes that a method gets a probe which it had before and had lost.
    pub fn begin_again(&self, probe: u32, to: Level) {
        let now = self.began.elapsed();
        let Noted { probes, pauses } = &mut *self.noted.lock();
        if let Some(times) = probes.get_mut(&probe) {
            times.change(Some(to), now, pauses);
        }
    }

    /// Notes that all probes are paused or resumed.
    pub fn switch(&self, is_on: bool) {
        let now = self.began.elapsed();
        self.noted.lock().pauses.change(is_on, now);
    }

    fn note(&self, probe: u32, begin: Duration, from: Option<Level>, to: Option<Level>) {
        let now = self.began.elapsed();
        let Noted { probes, pauses } = &mut *self.noted.lock();
        probes.entry(probe).or_insert_with(|| ProbeTimes::new(begin, from)).change(to, now, pauses);
    }

    /// Returns how calls of a probe were recorded; `unchanged` are begin and level of a probe that nothing has changed.
    pub fn recorded(&self, probe: u32, unchanged: (Duration, Level)) -> RecordedTime {
        let now = self.began.elapsed();
        let (begin, level) = unchanged;
        let Noted { probes, pauses } = &*self.noted.lock();
        let times = probes.get(&probe);
        times.map_or_else(
            || ProbeTimes::new(begin, Some(level)).recorded(now, pauses),
            |times| times.recorded(now, pauses),
        )
    }

    /// Returns for how long a probe was at this level; `None` if its level was never changed.
    pub fn at(&self, probe: u32, level: Level) -> Option<Duration> {
        let now = self.began.elapsed();
        let Noted { probes, pauses } = &*self.noted.lock();
        Some(probes.get(&probe)?.at(level, now, pauses))
    }
}

impl ProbeTimes {
    fn new(begin: Duration, level: Option<Level>) -> ProbeTimes {
        ProbeTimes { begin, level, since: begin, before: BTreeMap::new(), changes: 0 }
    }

    fn change(&mut self, to: Option<Level>, now: Duration, pauses: &Pauses) {
        if self.level == to {
            return;
        }
        if let Some(level) = self.level {
            *self.before.entry(level).or_default() += pauses.recorded_between(self.since, now);
        }
        (self.level, self.since) = (to, now);
        self.changes += 1;
    }

    fn at(&self, level: Level, now: Duration, pauses: &Pauses) -> Duration {
        let is_present = self.level == Some(level);
        let present = if is_present { pauses.recorded_between(self.since, now) } else { Duration::ZERO };
        self.before.get(&level).copied().unwrap_or_default() + present
    }

    fn recorded(&self, now: Duration, pauses: &Pauses) -> RecordedTime {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        RecordedTime {
            every_call: nanos(self.at(Level::Time, now, pauses) + self.at(Level::Full, now, pauses)),
            estimates: nanos(self.at(Level::Watch, now, pauses)),
            whole: nanos(now.saturating_sub(self.begin)),
            changes: self.changes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns every call, estimates and the whole in seconds, and the changes.
    fn in_seconds(recorded: RecordedTime) -> [u64; 4] {
        let RecordedTime { every_call, estimates, whole, changes } = recorded;
        [every_call / 1_000_000_000, estimates / 1_000_000_000, whole / 1_000_000_000, changes]
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn figures(probe: &ProbeTimes, now: u64, pauses: &Pauses) -> [u64; 4] {
        in_seconds(probe.recorded(seconds(now), pauses))
    }

    #[test]
    fn times_at_levels_add_up_and_a_removed_probe_has_none() {
        let none = Pauses::default();
        let mut probe = ProbeTimes::new(seconds(2), Some(Level::Time));
        assert_eq!(figures(&probe, 5, &none), [3, 0, 3, 0]);
        probe.change(Some(Level::Watch), seconds(6), &none);
        assert_eq!(figures(&probe, 10, &none), [4, 4, 8, 1]);
        probe.change(None, seconds(10), &none);
        assert_eq!(figures(&probe, 20, &none), [4, 4, 18, 2]);
        probe.change(Some(Level::Full), seconds(20), &none);
        probe.change(Some(Level::Burst), seconds(21), &none);
        assert_eq!(figures(&probe, 30, &none), [5, 4, 28, 4], "windows are not every call");
        assert_eq!(probe.at(Level::Burst, seconds(30), &none), seconds(9));
        assert_eq!(probe.at(Level::Time, seconds(30), &none), seconds(4));
    }

    #[test]
    fn nothing_is_recorded_while_all_probes_are_paused() {
        let mut pauses = Pauses::default();
        [(false, 1), (true, 3), (true, 4), (false, 12), (false, 13)]
            .iter()
            .for_each(|(is_on, at)| pauses.change(*is_on, seconds(*at)));
        let mut probe = ProbeTimes::new(seconds(2), Some(Level::Time));
        assert_eq!(figures(&probe, 10, &pauses), [7, 0, 8, 0], "one second of the pause is after its begin");
        assert_eq!(figures(&probe, 15, &pauses), [9, 0, 13, 0], "paused again");
        pauses.change(true, seconds(20));
        probe.change(Some(Level::Watch), seconds(21), &pauses);
        assert_eq!(figures(&probe, 25, &pauses), [10, 4, 23, 1]);
        let times = LevelTimes::new(Instant::now() - seconds(10));
        times.switch(false);
        times.change(7, Duration::ZERO, Level::Time, Level::Watch);
        assert_eq!(times.at(7, Level::Watch), Some(Duration::ZERO));
        assert!(times.at(7, Level::Time) >= Some(seconds(10)));
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
