//! When the windows of level burst open and close. They close by themselves: a call that begins compares the clock with the end
//! (`java.instr.Live`). What is decided here is when the next one opens, and what is reported of one that is over.

use std::time::Duration;

use settings::ControlConfig;

use crate::random::Random;

/// The windows of a session. Times are of Java's clock, in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct BurstWindows {
    open: i64,
    period: i64,
    /// The next window opens at this time, or later.
    next: i64,
    /// Start and end of the present window.
    present: Option<(i64, i64)>,
    random: Random,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Let a window begin now that ends at this time.
    Open(i64),
    /// The window that began and ended at these times is over.
    Over(i64, i64),
}

impl BurstWindows {
    /// Windows as the configuration has them.
    pub(crate) fn new(config: &ControlConfig) -> BurstWindows {
        let nanos = |ms: u32| Duration::from_millis(u64::from(ms)).as_nanos() as i64;
        BurstWindows {
            open: nanos(config.burst_open_ms),
            period: nanos(config.burst_period_ms),
            next: 0,
            present: None,
            random: Random::default(),
        }
    }

    /// Asked at every tick. `is_wanted`: whether some probe is at level burst.
    pub(crate) fn step(&mut self, now: i64, is_wanted: bool) -> Option<Step> {
        if let Some((start, end)) = self.present {
            // Nobody wants the rest: then it is over at once.
            let end = if is_wanted { end } else { end.min(now) };
            if now < end {
                return None;
            }
            self.present = None;
            return Some(Step::Over(start, end));
        }
        if !is_wanted || now < self.next {
            return None;
        }
        // At random moments, a period apart on the average: a program with the rhythm of the windows would always be met in the same place.
        self.next = now + self.open + (2.0 * self.random.part() * (self.period - self.open) as f64) as i64;
        self.present = Some((now, now + self.open));
        Some(Step::Open(now + self.open))
    }

    /// No more windows: the last one, if it was still open.
    pub(crate) fn finish(&mut self, now: i64) -> Option<Step> {
        self.step(now, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn windows() -> BurstWindows {
        BurstWindows::new(&ControlConfig::default())
    }

    #[test]
    fn windows_are_a_period_apart_on_the_average_in_no_rhythm() {
        let mut windows = windows();
        assert_eq!(windows.step(5_000 * MS, false), None);
        let steps: Vec<(i64, Step)> =
            (5_000..205_000).filter_map(|at| Some((at, windows.step(at * MS, true)?))).collect();
        let (opened, closed): (Vec<_>, Vec<_>) = steps.iter().partition(|(_, step)| matches!(step, Step::Open(_)));
        assert!(closed.iter().all(|(at, step)| *step == Step::Over((at - 1) * MS, at * MS)), "each is open for 1 ms");
        assert!((1_850..=2_150).contains(&opened.len()), "{} in 200 s", opened.len());
        let gaps: Vec<i64> = opened.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
        assert!(gaps.iter().any(|gap| *gap < 30) && gaps.iter().any(|gap| *gap > 170), "{gaps:?}");
    }

    #[test]
    fn a_late_tick_makes_no_window_longer_and_lost_ones_are_not_made_up_for() {
        let mut windows = windows();
        assert_eq!(windows.step(1_000 * MS, true), Some(Step::Open(1_001 * MS)));
        assert_eq!(windows.step(1_950 * MS, true), Some(Step::Over(1_000 * MS, 1_001 * MS)));
        assert_eq!(windows.step(1_951 * MS, true), Some(Step::Open(1_952 * MS)));
        assert_eq!(windows.step(1_953 * MS, true), Some(Step::Over(1_951 * MS, 1_952 * MS)));
    }

    #[test]
    fn the_last_window_ends_with_the_session_or_with_the_last_probe_that_wants_it() {
        let mut windows = windows();
        assert_eq!(windows.finish(900 * MS), None);
        windows.step(1_000 * MS, true);
        assert_eq!(windows.finish(1_000 * MS + 5), Some(Step::Over(1_000 * MS, 1_000 * MS + 5)));
        assert_eq!(windows.finish(1_002 * MS), None);
    }
}
