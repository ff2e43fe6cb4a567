//! The memory that probes of level full write to (`java.instr.Full`): figures of each method, and the calls that have not ended.
//!
//! Both tables belong to the process and are never freed, because Java code holds their addresses. The figures are 64 bytes a
//! probe number; only pages with probes of level full ever become memory.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use instrument_core::level::Level;
use metrics::{Family, Kind, MethodNames, Unit, Value};
use rustc_hash::FxHashMap;

use crate::jvm::{AllocationFields, VmStructs, probe_nanos, zeroed_words};

/// Probe numbers with figures; the others are only timed.
const PROBES: usize = 1 << 20;
/// Words of a method's figures, in this order: started, ended, thrown, processor time in ns, bytes, calls measured, calls
/// without a place.
const FIGURE_WORDS: usize = 8;
/// Calls that can be at work at the same time and still be told one by one.
const CALLS: usize = 1 << 14;
/// Words of a call: start, probe number, and two for Java.
const CALL_WORDS: usize = 4;
/// Start of a call whose place is being filled.
const FILLING: u64 = 1;

/// The two tables.
#[derive(Debug)]
pub(crate) struct FullCalls {
    figures: &'static [AtomicU64],
    calls: &'static [AtomicU64],
    allocation: Option<AllocationFields>,
}

static FULL_CALLS: OnceLock<Option<FullCalls>> = OnceLock::new();

/// Calls of one method that have not ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Running {
    stalled: u64,
    /// Age of the oldest in nanoseconds.
    oldest: u64,
}

impl FullCalls {
    /// The tables of this process; `None` if there are no addresses left for them.
    pub(crate) fn of_process() -> Option<&'static FullCalls> {
        let calls = FULL_CALLS.get_or_init(|| {
            let allocation = VmStructs::find().and_then(AllocationFields::find);
            FullCalls::new(allocation)
        });
        if calls.is_none() {
            tracing::warn!("no memory for the figures of level full; it records as level time does");
        }
        calls.as_ref()
    }

    /// The tables, if they are in use.
    pub(crate) fn known() -> Option<&'static FullCalls> {
        FULL_CALLS.get()?.as_ref()
    }

    fn new(allocation: Option<AllocationFields>) -> Option<FullCalls> {
        let (figures, calls) = (zeroed_words(PROBES * FIGURE_WORDS)?, zeroed_words(CALLS * CALL_WORDS)?);
        Some(FullCalls { figures, calls, allocation })
    }

    /// Static fields of `java.instr.Full` and what they must be, in the order in which they must be set. `cpu_times`: whether
    /// processor time is taken.
    pub(crate) fn java_fields(&self, cpu_times: bool) -> [(&'static CStr, i64); 9] {
        let offset = |of: fn(&AllocationFields) -> usize| self.allocation.as_ref().map_or(0, of) as i64;
        [
            (c"figures", self.figures.as_ptr() as i64),
            (c"probes", PROBES as i64),
            (c"calls", self.calls.as_ptr() as i64),
            (c"callMask", CALLS as i64 - 1),
            (c"bufferStart", offset(|fields| fields.buffer_start)),
            (c"bufferTop", offset(|fields| fields.buffer_top)),
            (c"allocatedBytes", offset(|fields| fields.allocated_bytes)),
            (c"cpuTimes", i64::from(cpu_times)),
            (c"on", 1),
        ]
    }

    /// The fields that say what a thread has allocated.
    pub(crate) fn allocation_fields(&self) -> impl Iterator<Item = (&'static CStr, i64)> {
        let is_meant =
            |(name, _): &(&'static CStr, i64)| [c"bufferStart", c"bufferTop", c"allocatedBytes"].contains(name);
        self.java_fields(false).into_iter().filter(is_meant)
    }

    /// Whether these are known.
    pub(crate) fn knows_allocation(&self) -> bool {
        self.allocation.is_some()
    }

    /// What the tables tell of the methods at level full; `now` is the time of Java's clock.
    pub(crate) fn families(&self, names: &MethodNames, now: i64, stalled_after: Duration) -> Vec<Family> {
        let running = self.running(now as u64, u64::try_from(stalled_after.as_nanos()).unwrap_or(u64::MAX));
        let mut families = empty_families();
        for (probe, named) in names.at_level(Level::Full) {
            let Some(figures) = self.figures(probe).filter(|figures| figures.started > 0) else { continue };
            let running = running.get(&probe).copied().unwrap_or_default();
            let values = [
                Value::Integer(figures.started),
                Value::Integer(figures.started.saturating_sub(figures.ended)),
                Value::Number(running.oldest as f64 / 1e9),
                Value::Integer(running.stalled),
                Value::Integer(figures.thrown),
                Value::Number(figures.cpu_nanos as f64 / 1e9),
                Value::Integer(figures.allocated),
                Value::Integer(figures.measured),
                Value::Integer(figures.unplaced),
            ];
            for (family, value) in families.iter_mut().zip(values) {
                family.push(Arc::clone(&named.attributes), value);
            }
        }
        let told = |family: &Family| self.allocation.is_some() || family.name != "instr.method.allocated";
        families.into_iter().filter(told).collect()
    }

    fn figures(&self, probe: u32) -> Option<Figures> {
        let at = probe as usize * FIGURE_WORDS;
        let [started, ended, thrown, cpu_nanos, allocated, measured, unplaced, _] =
            self.figures.get(at..at + FIGURE_WORDS)?
        else {
            return None;
        };
        // Ends before starts: a call that is counted as ended is then counted as started, too.
        let ended = ended.load(Ordering::Acquire);
        let get = |word: &AtomicU64| word.load(Ordering::Acquire);
        Some(Figures {
            started: get(started),
            ended,
            thrown: get(thrown),
            cpu_nanos: get(cpu_nanos),
            allocated: get(allocated),
            measured: get(measured),
            unplaced: get(unplaced),
        })
    }

    fn running(&self, now: u64, threshold: u64) -> FxHashMap<u32, Running> {
        let mut running: FxHashMap<u32, Running> = FxHashMap::default();
        for call in self.calls.chunks_exact(CALL_WORDS) {
            let [start, probe, ..] = call else { continue };
            let began = start.load(Ordering::Acquire);
            if began == 0 || began == FILLING {
                continue;
            }
            let probe = probe.load(Ordering::Acquire);
            // Another call may have taken the place meanwhile; then both words are told by the next reading.
            if start.load(Ordering::Acquire) != began {
                continue;
            }
            let age = now.saturating_sub(probe_nanos(began));
            let of_method = running.entry(u32::try_from(probe).unwrap_or(0)).or_default();
            of_method.oldest = of_method.oldest.max(age);
            of_method.stalled += u64::from(age > threshold);
        }
        running
    }
}

/// Figures of one method since it was first called.
#[derive(Debug, Clone, Copy)]
struct Figures {
    started: u64,
    ended: u64,
    thrown: u64,
    cpu_nanos: u64,
    allocated: u64,
    measured: u64,
    unplaced: u64,
}

fn empty_families() -> [Family; 9] {
    use Kind::{Counter, Gauge, UpDownCounter};
    let calls = Unit::Things("{call}");
    [
        Family::new("instr.method.started", calls, Counter, "Calls that have begun"),
        Family::new("instr.method.active", calls, UpDownCounter, "Calls that have begun and not ended"),
        Family::new("instr.method.active.longest", Unit::Seconds, Gauge, "Age of the oldest call that has not ended"),
        Family::new("instr.method.stalled", calls, Gauge, "Calls that have not ended after `stalled-after`"),
        Family::new("instr.method.errors", calls, Counter, "Calls that ended with an exception"),
        Family::new("instr.method.cpu.time", Unit::Seconds, Counter, "Processor time of the calls that were measured"),
        Family::new(
            "instr.method.allocated",
            Unit::Bytes,
            Counter,
            "Java heap allocated in the calls that were measured",
        ),
        Family::new("instr.method.measured", calls, Counter, "Calls measured: those in platform threads"),
        Family::new("instr.method.unplaced", calls, Counter, "Calls that can be neither measured nor told as stalled"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_run_are_told_by_method_with_their_age() {
        let full = FullCalls::new(None).unwrap();
        let put = |place: usize, start: u64, probe: u64| {
            full.calls[place * CALL_WORDS].store(start, Ordering::Release);
            full.calls[place * CALL_WORDS + 1].store(probe, Ordering::Release);
        };
        put(0, 100, 7);
        put(5, 900, 7);
        put(9, FILLING, 7);
        put(CALLS - 1, 500, 8);
        let running = full.running(1_000, 400);
        assert_eq!(running.get(&7), Some(&Running { stalled: 1, oldest: 900 }));
        assert_eq!(running.get(&8), Some(&Running { stalled: 1, oldest: 500 }));
        assert_eq!(running.len(), 2);
    }

    #[test]
    fn figures_are_read_where_java_writes_them() {
        let full = FullCalls::new(None).unwrap();
        for (word, value) in (0..7).zip([10, 8, 1, 5_000, 640, 7, 2]) {
            full.figures[3 * FIGURE_WORDS + word].store(value, Ordering::Release);
        }
        let figures = full.figures(3).unwrap();
        assert_eq!((figures.started, figures.ended, figures.thrown, figures.cpu_nanos), (10, 8, 1, 5_000));
        assert_eq!((figures.allocated, figures.measured, figures.unplaced), (640, 7, 2));
        assert!(full.figures(PROBES as u32).is_none());
    }
}
