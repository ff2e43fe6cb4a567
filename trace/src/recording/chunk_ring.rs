//! The newest chunks of a recording, in memory: what a ring keeps until somebody asks for it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::RingOptions;
use super::forgetting::KeptKeys;
use super::live_state::{LiveState, StateChange};

/// A chunk as it will be written to a file.
#[derive(Debug)]
struct KeptChunk {
    bytes: Arc<[u8]>,
    first_tick: u64,
    last_tick: u64,
    /// What the events of the chunk have changed.
    changes: Vec<StateChange>,
    calls: u64,
    lost: u64,
}

/// Figures of a chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChunkFigures {
    pub(super) first_tick: u64,
    pub(super) last_tick: u64,
    pub(super) calls: u64,
    pub(super) lost: u64,
}

/// The chunks that are kept, and the state when the first of them begins.
#[derive(Debug)]
pub(super) struct ChunkRing {
    options: RingOptions,
    chunks: VecDeque<KeptChunk>,
    byte_count: u64,
    state: LiveState,
    /// Changes of the chunk under construction.
    changes: Vec<StateChange>,
}

impl ChunkRing {
    pub(super) fn new(options: RingOptions) -> ChunkRing {
        ChunkRing { options, chunks: VecDeque::new(), byte_count: 0, state: LiveState::default(), changes: Vec::new() }
    }

    /// The chunk under construction changes the state.
    pub(super) fn change(&mut self, change: StateChange) {
        self.changes.push(change);
    }

    /// Keeps a chunk; old ones go.
    pub(super) fn push(&mut self, bytes: &[u8], figures: ChunkFigures) {
        let ChunkFigures { first_tick, last_tick, calls, lost } = figures;
        self.byte_count += bytes.len() as u64;
        let changes = std::mem::take(&mut self.changes);
        self.chunks.push_back(KeptChunk { bytes: bytes.into(), first_tick, last_tick, changes, calls, lost });
        self.forget_old(last_tick);
    }

    /// Lets chunks go that ended too long before this moment, and the oldest while there are too many bytes.
    pub(super) fn forget_old(&mut self, now: u64) {
        let oldest = self.options.keep_nanos.map_or(0, |keep| now.saturating_sub(keep));
        while let Some(first) = self.chunks.front() {
            let is_last = self.chunks.len() == 1;
            let is_too_much = self.byte_count > self.options.keep_bytes && !is_last;
            if first.last_tick >= oldest && !is_too_much {
                return;
            }
            self.byte_count -= first.bytes.len() as u64;
            let changes = self.chunks.pop_front().map(|chunk| chunk.changes).unwrap_or_default();
            changes.into_iter().for_each(|change| self.state.apply(change));
        }
    }

    /// When the first chunk that is kept begins.
    pub(super) fn first_tick(&self) -> Option<u64> {
        self.chunks.front().map(|chunk| chunk.first_tick)
    }

    /// The state at that moment. Put it back with [`ChunkRing::set_state`].
    pub(super) fn take_state(&mut self) -> LiveState {
        std::mem::take(&mut self.state)
    }

    pub(super) fn set_state(&mut self, state: LiveState) {
        self.state = state;
    }

    /// The chunks, without a copy.
    pub(super) fn chunks(&self) -> impl Iterator<Item = Arc<[u8]>> {
        self.chunks.iter().map(|chunk| Arc::clone(&chunk.bytes))
    }

    /// Calls in these chunks, and calls that these chunks say were lost.
    pub(super) fn calls_and_lost(&self) -> (u64, u64) {
        self.chunks.iter().fold((0, 0), |(calls, lost), chunk| (calls + chunk.calls, lost + chunk.lost))
    }

    /// Notes the keys of constants that a dump will use again.
    pub(super) fn keep_keys(&self, kept: &mut KeptKeys) {
        self.state.keep_keys(kept);
        let changes = self.chunks.iter().flat_map(|chunk| &chunk.changes).chain(&self.changes);
        changes.for_each(|change| change.keep_keys(kept));
    }

    pub(super) fn byte_count(&self) -> u64 {
        self.byte_count
    }
}
