//! The few things that the agent needs from the operating system and that `std` does not offer.

use std::mem::MaybeUninit;

/// CPU time used by the current thread so far, in nanoseconds.
pub(crate) fn thread_cpu_nanos() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: out-parameter on our stack.
    if unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) } != 0 {
        return 0;
    }
    let (seconds, nanos) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_nsec).unwrap_or(0));
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

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
