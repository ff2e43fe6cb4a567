//! What one call costs at each level on this machine, measured when a recording begins, with the clock that the probes read.
//!
//! What depends on the machine is measured: readings of the clock and of the thread's processor time, atomic additions. The rest, a few
//! nanoseconds of plain code, is constant. `cargo xtask bench percall` shows what calls really cost (docs/governor.md).

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use instrument_core::level::Level;
use trace::Recording;

use crate::jvm::{counter, thread_cpu_time};

/// Operations in one batch, and batches of which the fastest counts: the others were interrupted.
const OPERATIONS: u32 = 200;
const BATCHES: usize = 9;

/// Calling the helpers, testing, writing a record.
const WRITING: f64 = 5.0;
/// Reading the record again and writing it into the trace file, on another thread.
const DRAINING: f64 = 12.0;
/// What level `full` does for each call besides times: it finds a place for the call and counts it. In atomic additions that would take as
/// long.
const FULL_ADDITIONS: f64 = 9.0;
/// From Java code into the agent and back, for each reading of the processor time.
const NATIVE_CALL: f64 = 12.0;
/// A probe of level watch in a method that the JIT compiles into its callers, measured with whole programs (docs/performance.md).
pub(crate) const WATCH_NANOS: f64 = 1.2;

/// What one call costs, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ProbePrice {
    /// All processor time that the process spends because of the call's probe.
    pub(crate) total_nanos: f64,
    /// The part of it that the calling thread spends before the recorded duration begins and after it ends: the caller's own time
    /// contains it.
    pub(crate) outside_nanos: f64,
    /// The part within the recorded duration.
    pub(crate) inside_nanos: f64,
}

/// The prices of all levels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct ProbePrices {
    time: ProbePrice,
    full: ProbePrice,
}

/// What the operations of which probes consist take, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Operations {
    clock: f64,
    thread_time: f64,
    addition: f64,
}

impl ProbePrices {
    /// Measures the prices, which takes about a millisecond. `counts_full`: level `full` has figures of its own besides the times, and
    /// with `cpu_times` the processor time is one of them.
    pub(crate) fn measure(counts_full: bool, cpu_times: bool) -> ProbePrices {
        let operations = Operations::measure();
        let prices = ProbePrices::of_operations(operations, counts_full, cpu_times);
        tracing::debug!(?operations, ?prices, "what one call costs");
        prices
    }

    fn of_operations(operations: Operations, counts_full: bool, cpu_times: bool) -> ProbePrices {
        let Operations { clock, thread_time, addition } = operations;
        // From the middle of the first reading to the middle of the second: one reading is inside.
        let time = ProbePrice {
            total_nanos: 2.0 * clock + WRITING + DRAINING,
            outside_nanos: clock + WRITING,
            inside_nanos: clock,
        };
        let figures = if counts_full { clock + FULL_ADDITIONS * addition } else { 0.0 };
        let processor_time = if counts_full && cpu_times { 2.0 * (thread_time + NATIVE_CALL) } else { 0.0 };
        let more = figures + processor_time;
        let (total_nanos, outside_nanos) = (time.total_nanos + more, time.outside_nanos + more);
        let full = ProbePrice { total_nanos, outside_nanos, ..time };
        ProbePrices { time, full }
    }

    /// Writes into a recording what reports need to subtract the time of probes from own and total times.
    pub(crate) fn write(&self, recording: &mut Recording, at: u64) {
        let prices = [
            (trace::PROBE_INSIDE, self.time.inside_nanos),
            (trace::TIME_PROBE_OUTSIDE, self.time.outside_nanos),
            (trace::FULL_PROBE_OUTSIDE, self.full.outside_nanos),
        ];
        for (key, nanos) in prices {
            recording.configuration(at, key, &format!("{nanos:.2}"));
        }
    }

    /// The price of a call at this level; for `burst` of one in a window.
    pub(crate) fn of(&self, level: Level) -> ProbePrice {
        match level {
            Level::Off => ProbePrice::default(),
            // A tick may lie anywhere in a call or its probe, so estimated times contain no part that could be subtracted.
            Level::Watch => ProbePrice { total_nanos: WATCH_NANOS, ..ProbePrice::default() },
            Level::Burst | Level::Time => self.time,
            Level::Full => self.full,
        }
    }
}

impl Operations {
    fn measure() -> Operations {
        let sum = AtomicU64::new(0);
        Operations {
            clock: match counter::scale_in_use() {
                Some(scale) => nanos_of(|| scale.now()),
                None => nanos_of(Instant::now),
            },
            thread_time: nanos_of(thread_cpu_time),
            addition: nanos_of(|| sum.fetch_add(1, Ordering::SeqCst)),
        }
    }
}

/// What one operation takes, without the loop around it.
fn nanos_of<T>(operation: impl Fn() -> T) -> f64 {
    (fastest_batch(operation) - fastest_batch(|| 0_u64)).max(0.0)
}

fn fastest_batch<T>(operation: impl Fn() -> T) -> f64 {
    let batch = || {
        let begin = Instant::now();
        for _ in 0..OPERATIONS {
            black_box(operation());
        }
        begin.elapsed().as_nanos() as f64 / f64::from(OPERATIONS)
    };
    (0..BATCHES).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_costs_what_its_operations_cost_and_one_reading_of_the_clock_is_inside() {
        let operations = Operations { clock: 20.0, thread_time: 500.0, addition: 6.0 };
        let prices = |counts_full, cpu_times| ProbePrices::of_operations(operations, counts_full, cpu_times);
        let all = prices(true, true);
        let time = all.of(Level::Time);
        assert_eq!(time.total_nanos - time.outside_nanos, time.inside_nanos + DRAINING);
        assert_eq!((time.inside_nanos, all.of(Level::Full).inside_nanos), (20.0, 20.0));
        assert_eq!(all.of(Level::Full).total_nanos, time.total_nanos + 20.0 + 54.0 + 1_000.0 + 2.0 * NATIVE_CALL);
        assert_eq!(
            all.of(Level::Full).outside_nanos - time.outside_nanos,
            all.of(Level::Full).total_nanos - time.total_nanos
        );
        assert_eq!(prices(true, false).of(Level::Full).total_nanos, time.total_nanos + 74.0);
        assert_eq!(prices(false, true).of(Level::Full), time, "nobody wants the figures");
        assert_eq!(all.of(Level::Burst), time, "in a window");
        assert_eq!((all.of(Level::Off).total_nanos, all.of(Level::Watch).outside_nanos), (0.0, 0.0));
    }

    #[test]
    fn what_is_measured_is_a_machines_time() {
        let Operations { clock, thread_time, addition } = Operations::measure();
        assert!(clock > 1.0 && clock < 10_000.0, "{clock}");
        assert!(thread_time > clock && addition < clock + thread_time, "{thread_time} {addition}");
    }
}
