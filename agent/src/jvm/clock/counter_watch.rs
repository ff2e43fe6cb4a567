//! Checks once a second whether the processor's counter can still be trusted as the clock of the probes, and has them read the system's
//! clock from then on if it cannot (decision 018).
//!
//! The counter was good when the agent started. Later the kernel may choose another clock source, a virtual machine may be migrated to a
//! host with another rate, and a process that is restored from a checkpoint finds another counter.

use std::time::Duration;

use parking_lot::Mutex;

use super::processor_clock::{Reading, TickScale, counter, distrust, is_read, scale_in_use};

/// Time between two checks.
const PERIOD: Duration = Duration::from_secs(1);
/// How far both clocks may be apart because of the readings themselves, in nanoseconds.
const JITTER: i64 = 1_000_000;
/// NTP slews `CLOCK_MONOTONIC` by up to 500 ppm; twice that is not explained by it.
const LARGEST_SLEW: i64 = 1000;

/// The last reading that no check has doubted.
static TRUSTED: Mutex<Option<Reading>> = Mutex::new(None);

/// Compares the counter with `CLOCK_MONOTONIC`.
#[derive(Debug, Default)]
pub(crate) struct CounterWatch {
    last: Option<Reading>,
}

impl CounterWatch {
    /// Checks the counter if a check is due. If it can no longer be trusted, the probes read the system's clock from now on, and the
    /// reason is returned, once.
    pub(crate) fn check(&mut self) -> Option<String> {
        let scale = scale_in_use().filter(|_| is_read())?;
        if self.last.is_some_and(|last| last.at.elapsed() < PERIOD) {
            return None;
        }
        let now = Reading::take();
        let last = self.last.replace(now);
        let doubt = counter::other_clock_source().map_or_else(
            || last.and_then(|last| deviation(scale, last, now)),
            |source| Some(format!("the kernel has chosen another clock source, {source}")),
        );
        let Some(doubt) = doubt else {
            *TRUSTED.lock() = Some(now);
            return None;
        };
        distrust();
        Some(format!(
            "the processor's counter is no longer read: {doubt}. Probes read the system's clock from now on; calls of the last second may \
             have wrong durations, and those that seemed to end in the future count as lost"
        ))
    }
}

/// Finds calls that end after the present moment: the counter has jumped, and no check has noticed that yet.
#[derive(Debug)]
pub(crate) struct PresentTime {
    /// Returns the latest moment at which a call may have ended, in nanoseconds of the probes' clock; `None` if it is not known.
    read: fn() -> Option<u64>,
    latest: Option<u64>,
}

impl PresentTime {
    /// Returns the present time, which is read again if a call seems to end later.
    pub(crate) fn now() -> PresentTime {
        PresentTime::by(latest_end)
    }

    pub(crate) fn by(read: fn() -> Option<u64>) -> PresentTime {
        PresentTime { read, latest: read() }
    }

    /// Whether a call that ended at this time has not ended yet.
    pub(crate) fn is_before(&mut self, end: u64) -> bool {
        let is_before = |latest: Option<u64>| latest.is_some_and(|latest| (end.wrapping_sub(latest) as i64) > 0);
        if !is_before(self.latest) {
            return false;
        }
        self.latest = (self.read)();
        is_before(self.latest)
    }
}

/// Returns the present time: the last trusted reading and what has passed since by the system's clock, whatever the counter says now.
fn latest_end() -> Option<u64> {
    let scale = scale_in_use()?;
    let trusted = (*TRUSTED.lock())?;
    let latest = latest_after(scale, trusted, trusted.at.elapsed());
    // From the end of the trust on, probes follow a line of the system's clock that began with the process.
    Some(if is_read() { latest } else { latest.max(scale.nanos(scale.now()).saturating_add(JITTER as u64)) })
}

fn latest_after(scale: &TickScale, trusted: Reading, elapsed: Duration) -> u64 {
    let elapsed = i64::try_from(elapsed.as_nanos()).unwrap_or(i64::MAX);
    scale.nanos(trusted.ticks).wrapping_add_signed(elapsed.saturating_add(allowed(elapsed)))
}

/// How far both clocks may run apart in this time.
fn allowed(elapsed: i64) -> i64 {
    JITTER.saturating_add(elapsed / (1_000_000 / LARGEST_SLEW))
}

/// How far the counter ran apart from the system's clock between two readings, if that is too far.
fn deviation(scale: &TickScale, last: Reading, now: Reading) -> Option<String> {
    let counted = scale.nanos(now.ticks).wrapping_sub(scale.nanos(last.ticks)) as i64;
    let elapsed = i64::try_from(now.at.saturating_duration_since(last.at).as_nanos()).unwrap_or(i64::MAX);
    let ahead = counted.saturating_sub(elapsed);
    (ahead.saturating_abs() > allowed(elapsed)).then(|| {
        let millis = |nanos: i64| nanos as f64 / 1e6;
        format!("it advanced by {:.1} ms while CLOCK_MONOTONIC advanced by {:.1} ms", millis(counted), millis(elapsed))
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Instant;

    use super::*;

    /// 2.7 ticks a nanosecond.
    fn scale() -> TickScale {
        TickScale::new(0, 0, (1 << 40) * 10 / 27)
    }

    fn after(start: Reading, ticks: i64, nanos: u64) -> Reading {
        Reading { ticks: start.ticks.wrapping_add_signed(ticks), at: start.at + Duration::from_nanos(nanos) }
    }

    #[test]
    fn the_slew_of_ntp_and_late_readings_are_no_reason_to_distrust_the_counter() {
        let start = Reading { ticks: 1 << 40, at: Instant::now() };
        for (ticks, nanos) in [(2_700_000_000, 1_000_500_000), (2_700_000_000, 999_100_000), (2_700, 900_000)] {
            assert_eq!(deviation(&scale(), start, after(start, ticks, nanos)), None, "{ticks} {nanos}");
        }
        // A day without a check, as after SIGSTOP: 500 ppm are 43 s.
        assert_eq!(deviation(&scale(), start, after(start, 2_700_000_000 * 86_400, 86_443 * 1_000_000_000)), None);
    }

    #[test]
    fn the_present_time_goes_on_by_the_systems_clock_and_is_read_again_before_a_call_is_found_to_be_in_the_future() {
        let trusted = Reading { ticks: 27_000_000_000, at: Instant::now() };
        let latest = latest_after(&scale(), trusted, Duration::from_millis(500));
        assert!(latest.abs_diff(10_500_000_000 + 1_500_000) < 10, "{latest}");
        static NOW: AtomicU64 = AtomicU64::new(100);
        let mut present = PresentTime::by(|| Some(NOW.load(Ordering::Relaxed)));
        assert!(!present.is_before(100) && present.is_before(101));
        NOW.store(200, Ordering::Relaxed);
        assert!(!present.is_before(150) && present.is_before(201));
        // The counter was set back: before the beginning of the process.
        assert!(!present.is_before((-5_i64) as u64));
        assert!(!PresentTime::by(|| None).is_before(u64::MAX));
    }

    #[test]
    fn another_rate_a_step_and_a_reset_are_noticed() {
        let start = Reading { ticks: 1 << 40, at: Instant::now() };
        let cases = [(2_100_000_000, 1_000_000_000), (2_710_000_000, 1_000_000_000), (-(1 << 39), 1_000_000_000)];
        for (ticks, nanos) in cases {
            let text = deviation(&scale(), start, after(start, ticks, nanos));
            assert!(text.is_some_and(|text| text.ends_with("advanced by 1000.0 ms")), "{ticks}");
        }
    }
}
