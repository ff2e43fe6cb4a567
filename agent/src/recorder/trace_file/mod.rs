//! From records, samples and events of the JVM to the trace file, and dumps of a recording in memory.

pub(super) mod file_trouble;
mod sample_sink;
mod template_name;
mod thread_switches;
pub(super) mod trace_dumps;
pub(super) mod trace_sink;
