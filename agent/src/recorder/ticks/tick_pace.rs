//! How long the ticker waits from tick to tick: as the configuration says, or as long as keeps its own share of the processor small.
//!
//! Waking up costs 2 microseconds on one machine and 40 on another (a virtual one, where each timer is set by the host). So the
//! ticker looks at its own processor time now and then.

use std::time::Duration;

/// What the ticker may take of the processor time of the process.
const SHARE: f64 = 0.007;
/// A process that does little is taken to use so much of one processor.
const LEAST_USE: f64 = 0.25;
const SHORTEST: Duration = Duration::from_millis(1);
/// What JFR samples at by default.
pub(super) const LONGEST: Duration = Duration::from_millis(20);
/// How often the pace is looked at.
const REVIEW: Duration = Duration::from_millis(100);
/// Mean of a random pause, as a part of the longest.
const MEAN: f64 = 0.75;

/// The longest pause between two ticks.
#[derive(Debug, Clone, Copy)]
pub(super) struct TickPace {
    longest: Duration,
    adapts: bool,
    last: Option<Spent>,
    ticks: u32,
}

/// Times since some moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    pub(super) elapsed: Duration,
    /// Processor time of the ticker.
    pub(super) ticker: Duration,
    /// Processor time of the process.
    pub(super) process: Duration,
}

impl TickPace {
    /// The pace of the configuration; without one it follows from what a tick costs.
    pub(super) fn new(given: Option<Duration>) -> TickPace {
        TickPace { longest: given.unwrap_or(SHORTEST), adapts: given.is_none(), last: None, ticks: 0 }
    }

    /// The longest time that is to pass until the next tick.
    pub(super) fn longest(&self) -> Duration {
        self.longest
    }

    /// There was a tick, `elapsed` after the ticker began; whether [`TickPace::review`] is due.
    pub(super) fn ticked(&mut self, elapsed: Duration) -> bool {
        self.ticks += 1;
        self.adapts && self.last.is_none_or(|last| elapsed.saturating_sub(last.elapsed) >= REVIEW)
    }

    /// Looks at what ticks cost since the last time.
    pub(super) fn review(&mut self, now: Spent) {
        let ticks = std::mem::take(&mut self.ticks);
        let Some(last) = self.last.replace(now) else { return };
        let since = |now: Duration, last: Duration| now.saturating_sub(last).as_secs_f64();
        let elapsed = since(now.elapsed, last.elapsed).max(f64::EPSILON);
        let used = (since(now.process, last.process) / elapsed).max(LEAST_USE);
        let per_tick = since(now.ticker, last.ticker) / f64::from(ticks.max(1));
        let wanted = per_tick / (SHARE * used * MEAN);
        // Half way, so that one bad interval does not decide.
        let next = f64::midpoint(wanted, self.longest.as_secs_f64());
        self.longest = Duration::from_secs_f64(next.clamp(SHORTEST.as_secs_f64(), LONGEST.as_secs_f64()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pace after 20 reviews of 100 ms each in a process that uses this number of processors, where a tick costs this number of microseconds.
    fn settled(used: f64, tick_us: f64) -> u128 {
        let mut pace = TickPace::new(None);
        let (mut elapsed, mut ticker, mut process) = (0.0, 0.0, 0.0);
        for _ in 0..20 {
            loop {
                let pause = pace.longest().as_secs_f64() * MEAN;
                elapsed += pause;
                ticker += tick_us / 1e6;
                process += pause * used;
                if pace.ticked(Duration::from_secs_f64(elapsed)) {
                    break;
                }
            }
            let [elapsed, ticker, process] = [elapsed, ticker, process].map(Duration::from_secs_f64);
            pace.review(Spent { elapsed, ticker, process });
        }
        pace.longest().as_micros()
    }

    #[test]
    fn ticks_that_cost_little_come_each_millisecond() {
        assert_eq!((settled(1.0, 2.0), settled(0.4, 2.0), settled(2.0, 10.0)), (1_000, 1_000, 1_000));
    }

    #[test]
    fn dear_ticks_come_as_often_as_their_share_allows() {
        let busy = settled(1.0, 38.0);
        assert!((7_000..7_400).contains(&busy), "{busy}");
        assert!((3_500..3_700).contains(&settled(2.0, 38.0)));
        assert_eq!(settled(0.0, 38.0), 20_000, "seldom, but not never, where nothing happens");
    }

    #[test]
    fn a_pace_that_is_given_stays() {
        let mut pace = TickPace::new(Some(Duration::from_micros(100)));
        assert!(!pace.ticked(Duration::from_secs(5)));
        assert_eq!(pace.longest(), Duration::from_micros(100));
    }
}
