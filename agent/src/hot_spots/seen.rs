//! What a detector has seen.

use control::CodeKind;

/// Something that was seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    /// What it represents: intervals of processor time, threads, bytes, calls.
    pub(super) weight: f64,
    /// How many samples it is.
    pub(super) samples: u64,
    /// What the thread was executing.
    pub(super) kind: Option<CodeKind>,
    /// Line of the innermost method; 0 if unknown.
    pub(super) line: u32,
    /// Whether the thread was waiting.
    pub(super) waits: bool,
}
