//! CPU time of this thread, without a system call that needs `unsafe`.

use std::fs;
use std::time::{Duration, Instant};

/// Measures the CPU time between its start and [`CpuClock::elapsed`].
#[derive(Debug)]
pub(crate) struct CpuClock {
    cpu: Option<Duration>,
    wall: Instant,
}

impl CpuClock {
    pub(crate) fn start() -> CpuClock {
        CpuClock { cpu: of_this_thread(), wall: Instant::now() }
    }

    /// Where the kernel does not tell the CPU time, the time that passed.
    pub(crate) fn elapsed(&self) -> Duration {
        match (self.cpu, of_this_thread()) {
            (Some(start), Some(now)) => now.saturating_sub(start),
            _ => self.wall.elapsed(),
        }
    }
}

/// The first figure of `schedstat`: nanoseconds on a CPU.
fn of_this_thread() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
