//! At which moments of its processor time a thread is sampled: one interval apart on the average, half an interval to one and a half at random. A fixed rhythm
//! would be that of some program, of which it always saw the same half.
//!
//! Runs in a signal handler: nothing is allocated, no lock is taken. Only the thread itself changes the moments once its timer runs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The moments of one thread, in nanoseconds of its processor time since its timer was started.
#[derive(Debug)]
pub(super) struct SampleMoments {
    interval: AtomicU64,
    /// How often the kernel looks at timers.
    kernel_tick: AtomicU64,
    /// The next moment.
    next: AtomicU64,
    random: AtomicU64,
}

impl SampleMoments {
    pub(super) const fn none() -> SampleMoments {
        SampleMoments {
            interval: AtomicU64::new(0),
            kernel_tick: AtomicU64::new(0),
            next: AtomicU64::new(0),
            random: AtomicU64::new(0),
        }
    }

    /// Begins again; returns when the first sample is due.
    ///
    /// Threads that end before a whole interval has passed are seen as often as their time says if the first moment is distributed like the rest of an interval
    /// in which one begins anywhere: longer intervals are met more often.
    pub(super) fn begin(&self, seed: u64, interval: Duration, kernel_tick: Duration) -> Duration {
        self.interval.store(nanos(interval), Ordering::Relaxed);
        self.kernel_tick.store(nanos(kernel_tick), Ordering::Relaxed);
        self.random.store(seed, Ordering::Relaxed);
        let met = (0.25 + 2.0 * self.part()).sqrt();
        self.next.store((met * self.part() * interval.as_nanos() as f64) as u64, Ordering::Relaxed);
        self.due()
    }

    /// Returns how many moments (`most` at most) have passed when the thread has used so much time, and when the next one is due.
    pub(super) fn next(&self, used: Duration, most: u32) -> (u32, Duration) {
        let mut passed = 0;
        while self.due() <= used {
            if passed == most {
                let (tick, interval) = (&self.kernel_tick, &self.interval);
                let later = tick.load(Ordering::Relaxed).saturating_add(interval.load(Ordering::Relaxed));
                self.next.store(nanos(used).saturating_add(later).saturating_add(1), Ordering::Relaxed);
                break;
            }
            passed += 1;
            let apart = (0.5 + self.part()) * self.interval.load(Ordering::Relaxed).max(1) as f64;
            let next = self.next.load(Ordering::Relaxed).saturating_add(apart as u64 + 1);
            self.next.store(next, Ordering::Relaxed);
        }
        (passed, self.due())
    }

    /// When the kernel is asked for the next signal. It looks only at its ticks, the first of which comes at a random moment of the thread's time: with whole
    /// ticks each of them is as likely as the others to carry a sample.
    fn due(&self) -> Duration {
        let next = self.next.load(Ordering::Relaxed);
        let late = next.checked_rem(self.kernel_tick.load(Ordering::Relaxed)).unwrap_or(0);
        Duration::from_nanos(next.saturating_sub(late).max(1))
    }

    /// A random number from 0 to 1: SplitMix64, a well-known mixing function.
    fn part(&self) -> f64 {
        let state = self.random.load(Ordering::Relaxed).wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.random.store(state, Ordering::Relaxed);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) >> 40) as f64 / (1_u64 << 24) as f64
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 4_000_000;
    const INTERVAL: u64 = 10_000_000;

    /// A thread that uses so much processor time and meets ticks of the kernel from a random moment on: when it is sampled, and for how many intervals.
    fn samples(seed: u64, used: u64, phase: u64) -> Vec<(u64, u32)> {
        let moments = SampleMoments::none();
        let mut due = moments.begin(seed, Duration::from_nanos(INTERVAL), Duration::from_nanos(TICK));
        let mut samples = Vec::new();
        for at in (phase..=used).step_by(TICK as usize) {
            if Duration::from_nanos(at) >= due {
                let passed;
                (passed, due) = moments.next(Duration::from_nanos(at), 100);
                samples.push((at, passed));
            }
        }
        samples
    }

    fn phase(thread: u64) -> u64 {
        1 + thread.wrapping_mul(2_654_435_761) % TICK
    }

    #[test]
    fn threads_of_any_length_are_seen_as_often_as_their_time_says() {
        for used in [100_000_u64, 1_000_000, 5_000_000, 9_000_000, 33_000_000] {
            let threads = 200_000_u64;
            let seen = (1..=threads).flat_map(|thread| samples(thread, used, phase(thread)));
            let seen: u64 = seen.map(|(_, passed)| u64::from(passed)).sum();
            let ratio = seen as f64 / (threads * used / INTERVAL) as f64;
            assert!((0.95..1.05).contains(&ratio), "{used} ns: {ratio} of what was expected");
        }
    }

    #[test]
    fn a_program_with_the_rhythm_of_the_samples_is_seen_as_it_is() {
        // Three tenths of each interval are in one method.
        let (mut inside, mut all) = (0, 0);
        for (at, passed) in (1..=20).flat_map(|thread| samples(thread, 40_000_000_000, phase(thread))) {
            all += passed;
            inside += if at % INTERVAL >= 7_000_000 { passed } else { 0 };
        }
        let part = f64::from(inside) / f64::from(all);
        assert!((part - 0.3).abs() < 0.02, "{part}");
    }

    #[test]
    fn a_thread_that_could_not_be_interrupted_catches_up() {
        let moments = SampleMoments::none();
        let interval = Duration::from_nanos(INTERVAL);
        moments.begin(7, interval, Duration::from_nanos(TICK));
        let (passed, due) = moments.next(interval * 1_000, 10_000);
        assert!((980..1_020).contains(&passed) && due > interval * 1_000, "{passed}");
        let (passed, due) = moments.next(interval * 100_000, 10);
        assert!(passed == 10 && due > interval * 100_000, "no more than is asked for: {passed}");
        // Several moments between two ticks.
        moments.begin(7, Duration::from_millis(1), Duration::from_nanos(TICK));
        let (passed, due) = moments.next(Duration::from_secs(12), 100);
        assert!(passed == 100 && due > Duration::from_secs(12), "{passed}");
        let (passed, _) = moments.next(due + Duration::from_millis(40), 100);
        assert!((30..50).contains(&passed), "{passed}");
    }
}
