//! Parameters of a recording, and descriptions of its process and its methods.

/// Settings of a [`Recording`](super::Recording).
#[derive(Debug, Clone)]
pub struct RecordingOptions {
    /// Wall-clock time of the start, in nanoseconds since 1970.
    pub start_epoch_nanos: u64,
    /// `System.nanoTime()` of the same moment; all times given to the recording are of that clock.
    pub start_ticks: u64,
    /// The process that is recorded.
    pub process: ProcessInfo,
    /// A chunk is written to the file when it has reached this size; at most [`RecordingOptions::LARGEST_CHUNK`].
    pub max_chunk_bytes: usize,
    /// At this size of the file [`Recording::is_full`](super::Recording::is_full) begins to say yes.
    pub max_file_bytes: u64,
}

impl RecordingOptions {
    /// Size of a chunk unless said otherwise: 8 MiB.
    pub const DEFAULT_CHUNK: usize = 8 << 20;
    /// Upper limit of `max_chunk_bytes`: 15 MiB, so that a chunk with all that belongs to it stays below 16 MiB.
    pub const LARGEST_CHUNK: usize = 15 << 20;

    /// Options with the default chunk size.
    #[must_use]
    pub fn new(start_epoch_nanos: u64, start_ticks: u64, process: ProcessInfo) -> RecordingOptions {
        RecordingOptions {
            start_epoch_nanos,
            start_ticks,
            process,
            max_chunk_bytes: Self::DEFAULT_CHUNK,
            max_file_bytes: u64::MAX,
        }
    }
}

/// The process that is recorded. Unknown values stay empty or 0.
#[derive(Debug, Clone, Default)]
pub struct ProcessInfo {
    /// Process id.
    pub pid: u64,
    /// Main class or jar with its arguments, as in `sun.java.command`.
    pub command_line: String,
    /// Name of the JVM, as in `java.vm.name`.
    pub jvm_name: String,
    /// Version of the JVM, as in `java.vm.version`.
    pub jvm_version: String,
    /// Options of the JVM, separated by blanks.
    pub jvm_arguments: String,
    /// Start of the JVM, in milliseconds since 1970.
    pub jvm_start_epoch_millis: u64,
    /// Version of the agent.
    pub agent_version: String,
    /// The text of the configuration file.
    pub config_text: String,
    /// Name and version of the operating system.
    pub os_version: String,
    /// Model of the processor.
    pub cpu_model: String,
    /// Hardware threads.
    pub cpu_count: u32,
}

/// A method and how it is measured. Names are the bytes of the class file (modified UTF-8).
#[derive(Debug, Clone, Copy)]
pub struct MethodInfo<'a> {
    /// Internal name of the class: `a/b/C`.
    pub class: &'a [u8],
    /// Name of the method.
    pub name: &'a [u8],
    /// Descriptor of the method.
    pub descriptor: &'a [u8],
    /// Access flags of the method.
    pub access_flags: u16,
    /// True for exact times (level `time`), false for multiples of the tick (level `watch`).
    pub exact: bool,
    /// Name of the template that was merged.
    pub template: &'a str,
}

/// Figures of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RecordingStatistics {
    /// Calls recorded, those of dropped chunks included.
    pub calls: u64,
    /// Of these: calls of probes that nobody has defined.
    pub unknown_probes: u64,
    /// Samples of running threads recorded, with a stack or without.
    pub samples: u64,
    /// Records lost before they reached the recording, as reported with [`lost`](super::Recording::lost).
    pub lost: u64,
    /// Events (calls included) that could not be written to the file.
    pub dropped_events: u64,
    /// Of `calls`: those that could not be written to the file.
    pub dropped_calls: u64,
    /// Chunks in the file.
    pub chunks: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
}

/// One call of the JVM's function `RetransformClasses`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransform {
    /// Why: `start`, `attach`, `reload`, `claim` and others.
    pub reason: &'static str,
    /// Classes that were presented to the JVM.
    pub classes: u64,
    /// Whether the JVM rejected them together.
    pub is_rejected: bool,
    /// How long it took.
    pub duration_nanos: u64,
    /// The application was stopped for at most this long.
    pub stopped_nanos: u64,
}

/// A change of the level of a probe, or of all probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Claim<'a> {
    /// Who wants it: `rule`, `user`, `governor`, `breaker`.
    pub owner: &'a str,
    /// Why.
    pub reason: &'a str,
    /// The level before, or `removed`; of all probes `recording`.
    pub from: &'a str,
    /// The level afterwards, or `removed`; of all probes `paused`.
    pub to: &'a str,
}
