//! Processor time of this thread: clocks on the wall say little on a busy machine.

use std::fs;

use anyhow::{Context, Result};

/// Nanoseconds of CPU that this thread has used so far; exact to a tick of the scheduler, some milliseconds.
pub(crate) fn cpu_nanoseconds() -> Result<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat")?;
    text.split_whitespace().next().context("empty schedstat")?.parse().context("schedstat")
}
