//! The few things that the agent needs from the operating system and that `std` does not offer.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The operating system's number of the current thread.
pub(crate) fn current_thread_id() -> u64 {
    // SAFETY: gettid has no preconditions.
    let id = unsafe { libc::gettid() };
    u64::try_from(id).unwrap_or(0)
}

/// Blocks the signals of the process in the current thread, so that they stay with the threads that the JVM expects. Those
/// that a thread raises by its own fault stay open, for the JVM's crash report.
pub(crate) fn block_signals() {
    let mut all = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: sigfillset initialises the set, which is then only changed and read; the old mask is not asked for.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP] {
            libc::sigdelset(all.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), std::ptr::null_mut());
    }
}

/// Has the current thread woken up within a microsecond of the time that it asked for, where 50 are usual.
pub(crate) fn wake_up_in_time() {
    // SAFETY: PR_SET_TIMERSLACK takes a number of nanoseconds and concerns the current thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000 as libc::c_ulong) };
}

/// Gives the current thread the lowest real-time priority, so that it runs as soon as it wakes up; returns whether that worked. Only for
/// a thread that does next to nothing. Without it Linux lets the running thread continue until it waits or its time slice ends.
///
/// The system call is made only if the process has the right to it: a seccomp filter may end a process that tries without.
pub(crate) fn run_at_once() -> bool {
    if !may_use_real_time() {
        return false;
    }
    let lowest = libc::sched_param { sched_priority: 1 };
    // SAFETY: 0 is the current thread; the parameter is on our stack.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const lowest) == 0 }
}

/// Whether the kernel would grant real-time priority: the thread has `CAP_SYS_NICE`, or its limit of real-time priorities is not 0.
fn may_use_real_time() -> bool {
    const CAP_SYS_NICE: u32 = 23;
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the out-parameter is on our stack.
    let has_limit = unsafe { libc::getrlimit(libc::RLIMIT_RTPRIO, &raw mut limit) } == 0 && limit.rlim_cur > 0;
    has_limit || has_capability(&status, CAP_SYS_NICE)
}

/// Whether `/proc/thread-self/status` lists this capability as effective.
fn has_capability(status: &str, capability: u32) -> bool {
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = effective.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0);
    bits >> capability & 1 == 1
}

/// How often the current thread has left its processor: because it had to wait, and because another took its place. A system
/// call, 0.3 us.
pub(crate) fn own_switches() -> Option<(u64, u64)> {
    let mut usage = MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the out-parameter is on our stack.
    if unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) } != 0 {
        return None;
    }
    // SAFETY: the call above has succeeded, so it has filled the structure.
    let usage = unsafe { usage.assume_init() };
    Some((u64::try_from(usage.ru_nvcsw).ok()?, u64::try_from(usage.ru_nivcsw).ok()?))
}

/// Time that all threads of the process together have spent on processors.
pub(crate) fn process_cpu_time() -> Duration {
    cpu_time(libc::CLOCK_PROCESS_CPUTIME_ID)
}

fn cpu_time(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the out-parameter is on our stack.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return Duration::ZERO;
    }
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Time that the current thread has spent on processors: a system call, 0.1 to 0.3 us.
pub(crate) fn thread_cpu_time() -> Duration {
    cpu_time(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The same in nanoseconds.
pub(in crate::jvm) fn thread_cpu_nanos() -> i64 {
    i64::try_from(thread_cpu_time().as_nanos()).unwrap_or(i64::MAX)
}

/// Returns this number of words of zeros, for ever; `None` if not even addresses are left.
pub(crate) fn zeroed_words(count: usize) -> Option<&'static [AtomicU64]> {
    let words = zeros(count.checked_mul(size_of::<AtomicU64>())?)?.cast::<AtomicU64>();
    // SAFETY: as many bytes, aligned to a page, all zero, never unmapped, and from now on only used as atomic words (by Java
    // code with 8-byte accesses).
    Some(unsafe { std::slice::from_raw_parts(words.as_ptr(), count) })
}

/// A mapping of zeros that stays for ever. Its pages are allocated when they are touched.
fn zeros(bytes: usize) -> Option<NonNull<c_void>> {
    let (protection, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE);
    // SAFETY: an anonymous mapping at an address that the kernel chooses touches no memory of anybody.
    let address = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
    if address == libc::MAP_FAILED { None } else { NonNull::new(address) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_leaves_its_processor() {
        let before = own_switches().unwrap().0;
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || drop(go));
        let _ = wait.recv();
        other.join().unwrap();
        // A wait whose end has passed before it begins, on a busy machine, is none.
        let waited = (0..1_000).any(|_| {
            std::thread::park_timeout(Duration::from_millis(2));
            own_switches().unwrap().0 > before
        });
        assert!(waited);
    }
}
