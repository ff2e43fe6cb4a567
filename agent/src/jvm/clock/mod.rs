//! The clock of the probes: the system's, or the counter of the processor.

pub(super) mod counter_watch;
pub(super) mod direct_call;
pub(super) mod nano_time;
pub(super) mod processor_clock;
