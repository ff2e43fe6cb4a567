//! When the windows of level burst open and close. They close by themselves: a call that begins compares the clock with the end
//! (`java.instr.Live`). What is decided here is when the next one opens, and what is reported of one that is over.

use std::time::Duration;

use settings::ControlConfig;

/// The windows of a session. Times are of Java's clock, in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct BurstWindows {
    open: i64,
    period: i64,
    /// The next window opens at this time, or later.
    next: i64,
    /// Start and end of the present window.
    present: Option<(i64, i64)>,
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
        // After a long silence the windows do not catch up.
        self.next = if now - self.next < self.period { self.next + self.period } else { now + self.period };
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
    fn a_window_a_period_and_none_while_nobody_wants_it() {
        let mut windows = windows();
        assert_eq!(windows.step(5_000 * MS, false), None);
        let steps: Vec<(i64, Step)> =
            (5_000..5_310).filter_map(|at| Some((at, windows.step(at * MS, true)?))).collect();
        let expected: Vec<(i64, Step)> = [5_000, 5_100, 5_200, 5_300]
            .into_iter()
            .flat_map(|at| [(at, Step::Open((at + 1) * MS)), (at + 1, Step::Over(at * MS, (at + 1) * MS))])
            .collect();
        assert_eq!(steps, expected);
    }

    #[test]
    fn a_late_tick_makes_no_window_longer_and_lost_ones_are_not_made_up_for() {
        let mut windows = windows();
        assert_eq!(windows.step(1_000 * MS, true), Some(Step::Open(1_001 * MS)));
        assert_eq!(windows.step(1_950 * MS, true), Some(Step::Over(1_000 * MS, 1_001 * MS)));
        assert_eq!(windows.step(1_951 * MS, true), Some(Step::Open(1_952 * MS)));
        assert_eq!(windows.step(1_953 * MS, true), Some(Step::Over(1_951 * MS, 1_952 * MS)));
        assert_eq!(windows.step(2_050 * MS, true), None);
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
