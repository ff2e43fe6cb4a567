//! Counters of the processor that the kernel keeps for single threads (`perf_event_open`).

use std::collections::hash_map::Entry;
use std::fs;
use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use parking_lot::Mutex;
use rustc_hash::FxHashMap;

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CounterKind {
    /// Cycles of the processor that code of the program takes, without the kernel's.
    Cycles,
    /// Its instructions.
    Instructions,
    /// Nanoseconds of processor time: the kernel counts these itself.
    #[cfg(test)]
    TaskClock,
}

/// The beginning of the kernel's `perf_event_attr`, which it takes for the whole (version 0).
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint: u32,
    breakpoint_address: u64,
}

const HARDWARE: u32 = 0;
#[cfg(test)]
const SOFTWARE: u32 = 1;
/// Threads with a counter at a time: each has a descriptor, of which the application needs some, too. Others are not measured.
const MOST_THREADS: usize = 128;
/// The counter is read with the time for which it was wanted, and that for which it counted.
const WITH_TIMES: u64 = 0b11;
/// Not what the kernel and a hypervisor do.
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;
const PARANOID: &str = "/proc/sys/kernel/perf_event_paranoid";

/// A counter of each thread that has asked for its own.
#[derive(Debug)]
pub(crate) struct ThreadCounters {
    kind: CounterKind,
    by_thread: Mutex<FxHashMap<libc::pid_t, OwnedFd>>,
}

impl ThreadCounters {
    /// Begins to count; `Err` says why the kernel does not.
    pub(crate) fn new(kind: CounterKind) -> Result<ThreadCounters, String> {
        drop(open(kind).map_err(|error| reason(&error))?);
        Ok(ThreadCounters { kind, by_thread: Mutex::default() })
    }

    /// Returns the number of the present thread of the operating system, and what it has counted since it asked for the first time.
    pub(crate) fn read(&self) -> Option<(i32, u64)> {
        let thread = present_thread();
        let by_thread = &mut *self.by_thread.lock();
        let has_room = by_thread.len() < MOST_THREADS;
        let counter = match by_thread.entry(thread) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) if has_room => new.insert(open(self.kind).ok()?),
            Entry::Vacant(_) => return None,
        };
        let mut values = [0_u64; 3];
        let (buffer, length) = (values.as_mut_ptr().cast(), size_of_val(&values));
        // SAFETY: an open descriptor, and a buffer of this length on our stack.
        let read = unsafe { libc::read(counter.as_raw_fd(), buffer, length) };
        let [value, wanted, counted] = values;
        // Where others share the processor's few counters, each counts for a part of the time only.
        (usize::try_from(read) == Ok(length) && wanted == counted).then_some((thread, value))
    }
}

/// Returns the number that the operating system gives the present thread.
pub(crate) fn present_thread() -> i32 {
    // SAFETY: no arguments, no failure.
    unsafe { libc::gettid() }
}

fn open(kind: CounterKind) -> Result<OwnedFd, Error> {
    let (kind, config) = match kind {
        CounterKind::Cycles => (HARDWARE, 0),
        CounterKind::Instructions => (HARDWARE, 1),
        #[cfg(test)]
        CounterKind::TaskClock => (SOFTWARE, 1),
    };
    let attributes = Attributes {
        kind,
        size: size_of::<Attributes>() as u32,
        config,
        sample_period: 0,
        sample_type: 0,
        read_format: WITH_TIMES,
        flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        wakeup: 0,
        breakpoint: 0,
        breakpoint_address: 0,
    };
    let (this_thread, any_processor, no_group) = (0, -1, -1);
    // SAFETY: the structure lives until the call returns and has the size that it states; the other arguments are numbers.
    let opened = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            this_thread,
            any_processor,
            no_group,
            CLOSE_ON_EXEC,
        )
    };
    match i32::try_from(opened) {
        // SAFETY: the call has opened this descriptor, which nobody else has.
        Ok(descriptor) if descriptor >= 0 => Ok(unsafe { OwnedFd::from_raw_fd(descriptor) }),
        _ => Err(Error::last_os_error()),
    }
}

fn reason(error: &Error) -> String {
    let said = format!("perf_event_open: {error}");
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            format!("{said}: this machine has no such counter, as is usual in virtual machines")
        }
        Some(libc::EACCES | libc::EPERM) => {
            let paranoid = fs::read_to_string(PARANOID).unwrap_or_default();
            format!(
                "{said}: the kernel does not allow it ({PARANOID} is {}; 2 or less is needed, or a container that may call it)",
                paranoid.trim()
            )
        }
        _ => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_counts_for_itself_or_it_is_said_why_not() {
        let counters = match ThreadCounters::new(CounterKind::TaskClock) {
            Ok(counters) => counters,
            Err(reason) => {
                assert!(reason.starts_with("perf_event_open: "), "{reason}");
                return;
            }
        };
        let (thread, before) = counters.read().unwrap();
        let mut turns = 0_u64;
        while counters.read().unwrap().1 < before + 1_000_000 {
            turns += 1;
        }
        let other = std::thread::scope(|scope| scope.spawn(|| counters.read().unwrap()).join().unwrap());
        assert!(turns > 0 && other.0 != thread && other.1 < 1_000_000, "{other:?}");
        assert_eq!(present_thread(), thread);
    }

    #[test]
    fn reasons_say_what_to_do() {
        let reason = |code| reason(&Error::from_raw_os_error(code));
        assert!(reason(libc::ENOENT).contains("no such counter"));
        assert!(reason(libc::EACCES).contains("perf_event_paranoid is "));
        assert!(reason(libc::ENOSYS).starts_with("perf_event_open: "));
    }
}
