//! The few things that the agent needs from the operating system and that `std` does not offer.

use std::mem::MaybeUninit;
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

/// CPU time that the process has used, all threads together; zero if the system does not say.
pub(crate) fn process_cpu_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the call writes the structure it is given, which is valid as zero, too.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}
