//! What the calls that a hook counts are measured by: time, or what the thread has used.

use control::HotBy;

use crate::jvm::{CounterKind, ThreadCounters, present_thread, probe_length_nanos, thread_cpu_time};

/// Measures calls.
#[derive(Debug)]
pub(crate) enum Meter {
    /// By time, which Java code takes.
    Wall,
    /// By processor time of the thread.
    Cpu,
    /// By bytes that the thread allocates, which Java code reads.
    Allocated,
    /// By a counter of the processor.
    Counter(ThreadCounters),
}

/// What a thread of the operating system had used when a call began.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    thread: i32,
    used: u64,
}

impl Meter {
    /// The one for this; `Err` says why there is none.
    pub(crate) fn by(by: HotBy) -> Result<Meter, String> {
        let counter = |kind| match ThreadCounters::new(kind) {
            Ok(counters) => Ok(Meter::Counter(counters)),
            Err(reason) => Err(format!("`{}` is unavailable: {reason}", by.name())),
        };
        match by {
            HotBy::Wall => Ok(Meter::Wall),
            HotBy::Cpu => Ok(Meter::Cpu),
            HotBy::Allocated => Ok(Meter::Allocated),
            HotBy::Cycles => counter(CounterKind::Cycles),
            HotBy::Instructions => counter(CounterKind::Instructions),
            HotBy::Locks | HotBy::Calls => Err(format!(
                "a hook counts calls, and measures them by time, processor time, allocated bytes, cycles or instructions, not by `{}`",
                by.name()
            )),
        }
    }

    /// Returns the milliseconds of what was used, if that is time.
    pub(super) fn millis(&self, used: f64) -> Option<f64> {
        match self {
            Meter::Wall => Some(probe_length_nanos(used as u64) as f64 / 1e6),
            Meter::Cpu => Some(used / 1e6),
            Meter::Allocated | Meter::Counter(_) => None,
        }
    }

    /// Returns it if that is no time: bytes, cycles, instructions.
    pub(super) fn amount(&self, used: f64) -> Option<f64> {
        self.millis(used).is_none().then_some(used)
    }

    /// What is used by a hook itself, about: of calls that use less than some of that, shares would be mostly those of hooks.
    pub(crate) fn own_price(&self) -> f64 {
        match self {
            Meter::Wall | Meter::Allocated => 0.0,
            Meter::Cpu => 1_000.0,
            Meter::Counter(_) => 3_000.0,
        }
    }

    /// Reads what the present thread has used up to now; `allocated` is what it has allocated, `None` for a virtual one: what its carrier has used may be others'.
    pub(super) fn read(&self, allocated: Option<u64>) -> Option<Reading> {
        if matches!(self, Meter::Wall) {
            return Some(Reading { thread: 0, used: 0 });
        }
        let allocated = allocated?;
        let (thread, used) = match self {
            Meter::Wall => (0, 0),
            Meter::Cpu => (present_thread(), u64::try_from(thread_cpu_time().as_nanos()).ok()?),
            Meter::Allocated => (0, Some(allocated).filter(|bytes| *bytes > 0)?),
            Meter::Counter(counters) => counters.read()?,
        };
        Some(Reading { thread, used })
    }

    /// Returns what a call has used between two readings that took this time; `None` if it was not measured.
    pub(super) fn used(&self, since: Option<Reading>, now: Option<Reading>, time: u64) -> Option<u64> {
        let (since, now) = since.zip(now)?;
        match self {
            Meter::Wall => Some(time),
            _ => Some(now).filter(|now| now.thread == since.thread)?.used.checked_sub(since.used),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_what_its_thread_has_used_meanwhile() {
        let (wall, cpu, allocated) =
            (Meter::by(HotBy::Wall).unwrap(), Meter::by(HotBy::Cpu).unwrap(), Meter::by(HotBy::Allocated).unwrap());
        assert_eq!(wall.used(wall.read(None), wall.read(None), 70), Some(70), "on virtual threads, too");
        let [begin, end] = [1_000, 1_240].map(|bytes| allocated.read(Some(bytes)));
        assert_eq!((allocated.used(begin, end, 70), allocated.used(None, end, 70)), (Some(240), None));
        assert!(allocated.read(Some(0)).is_none() && allocated.read(None).is_none() && cpu.read(None).is_none());
        let since = cpu.read(Some(0));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(cpu.used(since, cpu.read(Some(0)), 0).is_some_and(|used| used < 10_000_000), "it has waited");
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| cpu.read(Some(0))).join().unwrap());
        assert_eq!(cpu.used(since, elsewhere, 0), None);
        assert!(Meter::by(HotBy::Locks).unwrap_err().contains("not by `locks`"));
    }

    #[test]
    fn a_counter_that_the_machine_has_not_is_unavailable_for_a_reason() {
        if let Err(reason) = Meter::by(HotBy::Cycles) {
            assert!(reason.starts_with("`cycles` is unavailable: perf_event_open: "), "{reason}");
        }
    }
}
