//! What came of looks of the governor and of requests.

use control::Changed;
use instrument_core::level::Level;

/// A change of one probe's level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LevelChange {
    pub(crate) probe: u32,
    /// Who wanted it: `rule`, `user` or `governor`.
    pub(crate) owner: &'static str,
    pub(crate) reason: String,
    pub(crate) from: Level,
    pub(crate) to: Level,
}

/// What came of a look of the governor.
#[derive(Debug, Default)]
pub(crate) struct Governing {
    pub(crate) changes: Vec<LevelChange>,
    /// Something that users should know.
    pub(crate) warning: Option<String>,
}

/// What a request to set levels did.
#[derive(Debug)]
pub(crate) struct LevelsSet {
    /// What the client is answered.
    pub(crate) answer: Changed,
    /// The changes to be recorded.
    pub(crate) changes: Vec<LevelChange>,
    /// The live probes that were meant.
    pub(crate) probes: Vec<u32>,
}
