//! The few things that the agent needs from the operating system and that `std` does not offer.

use std::mem::MaybeUninit;

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
