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
    /// By bytes that the thread allocates, which Java code tells.
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

    /// Reads what the present thread has used up to now; `allocated` is what it has allocated.
    pub(super) fn read(&self, allocated: u64) -> Option<Reading> {
        let (thread, used) = match self {
            Meter::Wall => (0, 0),
            Meter::Cpu => (present_thread(), u64::try_from(thread_cpu_time().as_nanos()).ok()?),
            // Of a virtual thread nothing is known.
            Meter::Allocated => (0, Some(allocated).filter(|bytes| *bytes > 0)?),
            Meter::Counter(counters) => counters.read()?,
        };
        Some(Reading { thread, used })
    }

    /// Returns what a call has used that took this time. `None` for one that went on on another thread of the operating system, as calls on virtual threads may.
    pub(super) fn used(&self, since: Option<Reading>, (time, allocated): (u64, u64)) -> Option<u64> {
        let since = since?;
        match self {
            Meter::Wall => Some(time),
            _ => self.read(allocated).filter(|now| now.thread == since.thread)?.used.checked_sub(since.used),
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
        assert_eq!(wall.used(wall.read(0), (70, 0)), Some(70));
        assert_eq!(allocated.used(allocated.read(1_000), (70, 1_240)), Some(240));
        assert_eq!(allocated.used(None, (70, 1_240)), None, "it began before");
        let since = cpu.read(0);
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(cpu.used(since, (0, 0)).is_some_and(|used| used < 10_000_000), "it has waited");
        let elsewhere = std::thread::scope(|scope| scope.spawn(|| cpu.used(since, (0, 0))).join().unwrap());
        assert_eq!(elsewhere, None);
        assert!(Meter::by(HotBy::Locks).unwrap_err().contains("not by `locks`"));
    }

    #[test]
    fn a_counter_that_the_machine_has_not_is_unavailable_for_a_reason() {
        if let Err(reason) = Meter::by(HotBy::Cycles) {
            assert!(reason.starts_with("`cycles` is unavailable: perf_event_open: "), "{reason}");
        }
    }
}
