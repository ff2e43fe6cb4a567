//! Trace files of instr: JFR recordings written and read, call trees, reports.
//!
//! * [`Recording`] writes a recording, chunk by chunk; every chunk that reached the file is complete by itself.
//! * [`TraceReader`] reads such files (and any other JFR file, of which it understands the events of instr).
//! * [`Analysis`] turns a file into a call tree, flat tables and totals, with memory that does not grow with the events.
//! * [`report`] prints an analysis in a terminal, or as one self-contained HTML page.
//! * [`export`] writes a recording in the formats of other tools: collapsed stacks, speedscope, Chrome's trace events.
//! * [`repair()`] cuts the torn tail that a crash may have left.

/// Behind the name of a template, in a recording: only the calls that began in a window of level burst were recorded.
pub const IN_BURSTS: &str = " in bursts";

/// Between the name of a template, in a recording, and the context inside which its calls were recorded: `timed inside a.B.c > d.E.f`.
pub const INSIDE: &str = " inside ";

/// Kind of the note that the file has the size that it may have, so that later calls are counted as lost.
pub const FILE_FULL: &str = "file-full";
/// Suffix of the name of a template, in a recording: the calls were recorded at level full, whose probes cost more than those of level
/// time. Readers remove it, because the figures mean the same.
pub const AT_FULL: &str = " at level full";

/// In an `instr.Claim` of all probes: nothing is recorded from now on.
pub const PAUSED: &str = "paused";
/// The opposite of [`PAUSED`].
pub const RECORDING: &str = "recording";

/// Settings of a recording: what one call of a probe costs, in nanoseconds, within the recorded duration and outside of it.
pub const PROBE_INSIDE: &str = "probe.inside-ns";
/// See [`PROBE_INSIDE`]: outside of the duration, at level time.
pub const TIME_PROBE_OUTSIDE: &str = "probe.time.outside-ns";
/// See [`PROBE_INSIDE`]: outside of the duration, at level full.
pub const FULL_PROBE_OUTSIDE: &str = "probe.full.outside-ns";

pub mod analysis;
pub mod arguments;
mod chunk_header;
pub mod conventions;
mod diagnosis;
pub mod export;
mod kept_files;
mod modified_utf8;
pub mod reader;
pub mod recording;
mod repair;
pub mod report;
mod schema;
mod slow_call;
mod task_step;
mod varint;
mod walk;
mod watched_lengths;
mod watched_nesting;
mod write_target;

pub use analysis::{Analysis, AnalysisOptions, parameter_types};
pub use chunk_header::is_recording;
pub use diagnosis::{
    CountedCalls, Diagnosis, DiagnosisBranch, DiagnosisCost, DiagnosisNode, DiagnosisOrder, DiagnosisSentence,
    ON_ANOTHER_THREAD,
};
pub use kept_files::write_keeping_earlier;
pub use modified_utf8::text_of_modified_utf8;
pub use reader::{ReadError, TraceReader};
pub use recording::{
    Claim, ClaimedFile, MethodInfo, ModuleOfClass, ProcessInfo, Recording, RecordingOptions, RecordingStatistics,
    Retransform, RingOptions, SampleFrame, SampledMethod, SamplerSettings, TraceDump,
};
pub use repair::{Repaired, repair};
pub use slow_call::{SlowCall, SlowCallStep};
pub use task_step::TaskStep;
pub use walk::{HookCount, HotSpot, Walk, WalkCaller, WalkHooks, WalkLevel, WithoutCaller};
pub use watched_lengths::{TICK_LIMIT, WatchedLengths};
pub use watched_nesting::{EndedCall, NestingEvidence, Placement};
