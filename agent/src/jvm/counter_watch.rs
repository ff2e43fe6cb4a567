//! Checks once a second whether the processor's counter can still be trusted as the clock of the probes, and has them read the system's
//! clock from then on if it cannot (decision 018).
//!
//! The counter was good when the agent started. Later the kernel may choose another clock source, a virtual machine may be migrated to a
//! host with another rate, and a process that is restored from a checkpoint finds another counter.

use std::time::Duration;

use super::processor_clock::{Reading, TickScale, counter, distrust, is_read, scale_in_use};

/// Time between two checks.
const PERIOD: Duration = Duration::from_secs(1);
/// How far both clocks may be apart because of the readings themselves, in nanoseconds.
const JITTER: i64 = 1_000_000;
/// NTP slews `CLOCK_MONOTONIC` by up to 500 ppm; twice that is not explained by it.
const LARGEST_SLEW: i64 = 1000;

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
        let doubt = if counter::is_clock_source() {
            deviation(scale, last?, now)
        } else {
            Some("the kernel has chosen another clock source".to_owned())
        }?;
        distrust();
        Some(format!(
            "the processor's counter is no longer read: {doubt}. Probes read the system's clock from now on; calls of the last second may \
             have wrong durations"
        ))
    }
}

/// How far the counter ran apart from the system's clock between two readings, if that is too far.
fn deviation(scale: &TickScale, last: Reading, now: Reading) -> Option<String> {
    let counted = scale.nanos(now.ticks).wrapping_sub(scale.nanos(last.ticks)) as i64;
    let elapsed = i64::try_from(now.at.saturating_duration_since(last.at).as_nanos()).unwrap_or(i64::MAX);
    let ahead = counted.saturating_sub(elapsed);
    let allowed = JITTER.saturating_add(elapsed / (1_000_000 / LARGEST_SLEW));
    (ahead.saturating_abs() > allowed).then(|| {
        let millis = |nanos: i64| nanos as f64 / 1e6;
        format!("it advanced by {:.1} ms while CLOCK_MONOTONIC advanced by {:.1} ms", millis(counted), millis(elapsed))
    })
}

#[cfg(test)]
mod tests {
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
    fn another_rate_a_step_and_a_reset_are_noticed() {
        let start = Reading { ticks: 1 << 40, at: Instant::now() };
        let cases = [(2_100_000_000, 1_000_000_000), (2_710_000_000, 1_000_000_000), (-(1 << 39), 1_000_000_000)];
        for (ticks, nanos) in cases {
            let text = deviation(&scale(), start, after(start, ticks, nanos));
            assert!(text.is_some_and(|text| text.ends_with("advanced by 1000.0 ms")), "{ticks}");
        }
    }
}
