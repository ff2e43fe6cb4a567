//! Calls that have ended, as the rule for nesting sees them ([`trace::NestingEvidence`]): whose times are exact, and since when the others
//! surely ran.

use instrument_core::level::Level;
use trace::EndedCall;

use super::{ProbeRegistry, SharedLengths};

/// Knows which numbers of probes record ticks.
#[derive(Debug)]
pub struct EndedCalls {
    probes: &'static ProbeRegistry,
    lengths: SharedLengths,
    /// By number, as far as it was asked for.
    watched: Vec<Option<bool>>,
}

impl EndedCalls {
    /// Returns the knowledge of one session.
    #[must_use]
    pub fn new(probes: &'static ProbeRegistry, lengths: SharedLengths) -> EndedCalls {
        EndedCalls { probes, lengths, watched: Vec::new() }
    }

    /// Returns the call that this probe recorded, in nanoseconds.
    pub fn call(&mut self, probe: u32, start: u64, nanos: u64) -> EndedCall {
        let end = start.saturating_add(nanos);
        if self.is_watched(probe) {
            EndedCall::watched(start, end, probe, &self.lengths.lock())
        } else {
            EndedCall::exact(start, end, probe)
        }
    }

    fn is_watched(&mut self, probe: u32) -> bool {
        let index = probe as usize;
        if let Some(Some(known)) = self.watched.get(index) {
            return *known;
        }
        let Some(Some(recorded)) = self.probes.recorded_as(std::iter::once(probe)).pop() else { return false };
        let is_watched = recorded.level == Level::Watch;
        if self.watched.len() <= index {
            self.watched.resize(index + 1, None);
        }
        if let Some(known) = self.watched.get_mut(index) {
            *known = Some(is_watched);
        }
        is_watched
    }
}
