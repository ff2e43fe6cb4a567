//! Recordings in memory, and their dumps: whole files with the newest chunks.
//!
//! ```text
//! head: process, configuration, what there was when the first kept chunk began, marker
//! kept chunks, as they are
//! tail: why it was dumped, figures
//! ```

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use super::chunk_ring::ChunkRing;
use super::live_state::{CodeOwner, LiveState, Pause};
use super::{Claim, Destination, Recording, RecordingOptions, RecordingStatistics};
use crate::kept_files::rename_to_free;
use crate::{PAUSED, RECORDING};

/// Before the first kept chunk there must be room for the starts of the head's chunks, which all differ.
const HEAD_TICKS: u64 = 1_000_000;
/// Chunks of a ring: so many at least make up what is kept, so that old events go in small steps.
const CHUNKS_OF_A_RING: u64 = 8;

/// What a recording in memory keeps.
#[derive(Debug, Clone, Copy)]
pub struct RingOptions {
    /// Events older than this go, in nanoseconds; `None`: only the size counts.
    pub keep_nanos: Option<u64>,
    /// Bytes of chunks that are kept. Beside them there is the chunk under construction, and while a dump is being written,
    /// what it holds.
    pub keep_bytes: u64,
}

/// What a recording in memory held at a moment: a whole recording, ready for a file.
#[derive(Debug, Clone)]
pub struct TraceDump {
    chunks: Vec<Arc<[u8]>>,
    nanos: u64,
}

impl TraceDump {
    /// Bytes of the file.
    #[must_use]
    pub fn byte_count(&self) -> u64 {
        self.chunks.iter().map(|chunk| chunk.len() as u64).sum()
    }

    /// From the first moment that was kept to the dump, in nanoseconds.
    #[must_use]
    pub fn nanos(&self) -> u64 {
        self.nanos
    }

    /// Writes the file, first under another name, so that nobody finds half a file.
    ///
    /// # Errors
    /// When the file cannot be written; nothing is left then. The kind is `AlreadyExists` if the name is taken, or is about to
    /// be by another process.
    pub fn write(&self, path: &Path) -> io::Result<()> {
        if fs::symlink_metadata(path).is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let mut unfinished = path.as_os_str().to_owned();
        unfinished.push(".part");
        let unfinished = Path::new(&unfinished);
        let mut file = fs::File::create_new(unfinished)?;
        let chunks = self.chunks.iter().try_for_each(|chunk| file.write_all(chunk));
        let written = chunks.and_then(|()| rename_to_free(unfinished, path));
        written.inspect_err(|_| drop(fs::remove_file(unfinished)))
    }
}

impl Recording {
    /// A recording that keeps its newest chunks in memory and writes no file by itself.
    #[must_use]
    pub fn in_memory(options: RecordingOptions, ring: RingOptions) -> Recording {
        let largest = usize::try_from(ring.keep_bytes / CHUNKS_OF_A_RING).unwrap_or(usize::MAX);
        let options = RecordingOptions {
            start_epoch_nanos: options.start_epoch_nanos.saturating_sub(HEAD_TICKS),
            start_ticks: options.start_ticks.wrapping_sub(HEAD_TICKS),
            max_chunk_bytes: options.max_chunk_bytes.min(largest),
            ..options
        };
        let mut recording = Recording::new(Destination::Ring(ChunkRing::new(ring)), options);
        recording.chunk.begin_at(HEAD_TICKS);
        recording
    }

    /// What a recording in memory holds at this moment of `System.nanoTime()`, as a whole file; it goes on. `None` if it has
    /// a file.
    pub fn dump(&mut self, at_nanos: u64, reason: &str) -> Option<TraceDump> {
        let (now, _) = self.ticks(at_nanos, 0);
        if self.chunk.events() > 0 {
            let result = self.write_chunk(false);
            self.keep_first_error(result);
        }
        let resume = self.chunk.first_tick();
        let Destination::Ring(ring) = &mut self.destination else { return None };
        ring.forget_old(now);
        let begin = ring.first_tick().unwrap_or(resume);
        let (calls, lost) = ring.calls_and_lost();
        let kept: Vec<Arc<[u8]>> = ring.chunks().collect();
        let state = ring.take_state();

        self.chunk.begin_at(begin.saturating_sub(HEAD_TICKS));
        let mut chunks = self.head(&state);
        if let Destination::Ring(ring) = &mut self.destination {
            ring.set_state(state);
        }
        chunks.extend(kept);
        self.chunk.begin_at(resume);
        let at = resume.max(now);
        self.phase_at(at, "end", reason);
        self.write_end(RecordingStatistics { calls, lost, ..self.statistics });
        chunks.push(self.take_chunk(true));
        Some(TraceDump { chunks, nanos: at.saturating_sub(begin) })
    }

    /// Bytes that a recording in memory keeps, the chunk under construction included; 0 if it has a file.
    #[must_use]
    pub fn kept_bytes(&self) -> u64 {
        match &self.destination {
            Destination::Ring(ring) => ring.byte_count() + self.chunk.event_bytes() as u64,
            Destination::File(_) => 0,
        }
    }

    /// The chunks before those that are kept.
    fn head(&mut self, state: &LiveState) -> Vec<Arc<[u8]>> {
        let mut chunks = Vec::new();
        self.write_information();
        for (key, value) in &state.settings {
            self.head_event(&mut chunks, |recording, at| recording.configuration_at(at, key, value));
        }
        if let Some(Pause { owner, reason }) = &state.paused {
            let claim = Claim { owner, reason, from: RECORDING, to: PAUSED };
            self.head_event(&mut chunks, |recording, at| recording.claim_at(at, None, &claim));
        }
        for (tid, (name, os_id)) in &state.threads {
            self.head_event(&mut chunks, |recording, at| {
                let is_new = recording.threads.define_if_unknown(*tid, name, *os_id);
                recording.live_thread_at(*tid, at);
                if is_new {
                    // It has ended in what is kept.
                    recording.threads.forget(*tid);
                }
            });
        }
        for (loader, classes) in &state.classes {
            for (class, methods) in classes {
                self.head_event(&mut chunks, |recording, at| recording.loaded_class_at(*class, *loader, at));
                for method in methods {
                    self.head_event(&mut chunks, |recording, at| recording.loaded_method_at(*method, at));
                }
            }
        }
        for (address, code) in &state.code {
            self.head_event(&mut chunks, |recording, at| match &code.owner {
                CodeOwner::Method(method) => recording.compiled_code_at(*method, (*address, code.length), at),
                CodeOwner::Jvm(name) => recording.generated_code_at(name, (*address, code.length), at),
                CodeOwner::Library { name, build_id } => {
                    recording.native_library_at(name, build_id, (*address, code.length), at);
                }
            });
        }
        if state.is_complete {
            self.head_event(&mut chunks, Recording::start_up_done_at);
            self.head_event(&mut chunks, |recording, at| recording.phase_at(at, "profiling", "the ring begins here"));
        }
        chunks.push(self.take_chunk(false));
        chunks
    }

    /// Adds an event with the time of the chunk's start, after a full chunk was put aside.
    fn head_event(&mut self, chunks: &mut Vec<Arc<[u8]>>, event: impl FnOnce(&mut Recording, u64)) {
        if self.is_chunk_full() {
            chunks.push(self.take_chunk(false));
        }
        let at = self.chunk.first_tick();
        event(self, at);
    }

    fn take_chunk(&mut self, is_last: bool) -> Arc<[u8]> {
        let bytes = Arc::from(self.complete_chunk(is_last));
        self.next_chunk();
        bytes
    }
}
