//! Writes a trace file: a JFR recording that is made of whole chunks at any time.
//!
//! A chunk is built in memory and appended in one write, so that a kill loses at most the chunk under construction. All
//! times are `System.nanoTime()` values; the file counts them from the start of the recording.

mod chunk;
mod chunk_file;
mod chunk_ring;
mod claimed_file;
mod constants;
mod details;
mod dump;
mod events_of_jvm;
#[cfg(test)]
mod failure_tests;
mod forgetting;
mod information;
mod live_state;
mod metadata;
mod options;
mod payload;
mod pool;
mod probes;
mod samples;
mod stacks;
mod threads;

use std::io;
use std::path::Path;

pub use claimed_file::ClaimedFile;
pub use constants::ModuleOfClass;
pub use details::HttpRequest;
pub use dump::{RingOptions, TraceDump};
pub use options::{Claim, MethodInfo, ProcessInfo, RecordingOptions, RecordingStatistics, Retransform};
pub use samples::{SampledMethod, SamplerSettings};
pub use stacks::SampleFrame;

use crate::varint::{self, PACKED_LIMIT, pack};
use chunk::ChunkBuffer;
use chunk_file::ChunkFile;
use chunk_ring::{ChunkFigures, ChunkRing};
use constants::Constants;
use live_state::LiveState;
use pool::Pool;
use probes::{CALL_WINDOW, CallFrame, PROBE_MASK, Probes, encode_call, encode_calls};
use stacks::Stacks;
use threads::Threads;

/// Calls that are encoded between two looks at the size of the chunk.
const BATCH: usize = 1024;
/// Space for a batch beyond the size at which a chunk is written.
const BATCH_SPACE: usize = (BATCH + 1) * CALL_WINDOW;
/// The smallest chunk: a batch must fit in a few of them.
const SMALLEST_CHUNK: usize = 4096;

/// Where finished chunks go.
#[derive(Debug)]
enum Destination {
    File(ChunkFile),
    Ring(ChunkRing),
}

impl Destination {
    fn append(&mut self, chunk: &[u8], figures: ChunkFigures) -> io::Result<()> {
        match self {
            Destination::File(file) => file.append(chunk),
            Destination::Ring(ring) => {
                ring.push(chunk, figures);
                Ok(())
            }
        }
    }

    /// Length of the file.
    fn length(&self) -> u64 {
        match self {
            Destination::File(file) => file.length(),
            Destination::Ring(_) => 0,
        }
    }
}

/// A trace file being written. See the [module](self).
///
/// Methods that add events never fail: when the file cannot be written, the data of the chunk is dropped and counted, and
/// the next [`flush_chunk`](Recording::flush_chunk) returns the error. Later chunks are tried again.
#[derive(Debug)]
pub struct Recording {
    destination: Destination,
    chunk: ChunkBuffer,
    constants: Constants,
    probes: Probes,
    threads: Threads,
    stacks: Stacks,
    /// What there is now.
    live: LiveState,
    options: RecordingOptions,
    start_ticks: u64,
    max_chunk_bytes: usize,
    statistics: RecordingStatistics,
    /// Calls and losses before the chunk under construction.
    before_chunk: (u64, u64),
    /// The `dropped_events` and `dropped_calls` that the file already reports.
    reported_drops: (u64, u64),
    /// Calls and losses of chunks that could not be written, which the next chunk reports as lost.
    unreported_lost: u64,
    pending_error: Option<io::Error>,
    payload: Vec<u8>,
}

impl Recording {
    /// Begins a recording in a file of this name; [`ClaimedFile::claim`] says what happens to one that is there.
    ///
    /// # Errors
    /// When the file cannot be created or written.
    pub fn create(path: &Path, options: RecordingOptions) -> io::Result<Recording> {
        Recording::in_file(ClaimedFile::claim(path)?, options)
    }

    /// Writes a first chunk with all that is known about the process, so that the file is a sound recording from the
    /// beginning.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn in_file(file: ClaimedFile, options: RecordingOptions) -> io::Result<Recording> {
        let (file, is_shared) = file.into_file();
        let mut recording = Recording::new(Destination::File(ChunkFile::new(file, is_shared)), options);
        recording.write_information();
        recording.flush_chunk()?;
        Ok(recording)
    }

    fn new(destination: Destination, options: RecordingOptions) -> Recording {
        let max_chunk_bytes = options.max_chunk_bytes.clamp(SMALLEST_CHUNK, RecordingOptions::LARGEST_CHUNK);
        let mut constants = Constants::new();
        Recording {
            destination,
            chunk: ChunkBuffer::new(max_chunk_bytes + BATCH_SPACE, options.start_epoch_nanos),
            probes: Probes::new(&mut constants),
            constants,
            threads: Threads::new(),
            stacks: Stacks::new(),
            live: LiveState::default(),
            start_ticks: options.start_ticks,
            max_chunk_bytes,
            options,
            statistics: RecordingStatistics::default(),
            before_chunk: (0, 0),
            reported_drops: (0, 0),
            unreported_lost: 0,
            pending_error: None,
            payload: Vec::new(),
        }
    }

    /// Says where the modules of classes are to be learnt: `source` is asked with the internal name of each class, once.
    /// Without it, and for classes of which it knows nothing, the recording names no module.
    pub fn take_modules_from(&mut self, source: ModuleOfClass) {
        self.constants.take_modules_from(source);
    }

    /// Sets the method of a probe id from now on. A probe may be defined again, with another level for
    /// instance. Ids above 24 bits are ignored.
    pub fn define_method(&mut self, probe: u32, method: MethodInfo<'_>) {
        let parts = self.constants.parts(method.class, method.name, method.descriptor, method.access_flags);
        let template = self.constants.template_key(method.template);
        self.probes.define(probe, parts, template, method.exact);
    }

    /// Sets the name of a thread (by its Java id) from now on. For a virtual thread call this each time it occurs in
    /// the records again; that is cheap, and the recording does not remember millions of them.
    pub fn define_thread(&mut self, tid: u64, name: &str, os_tid: u64, is_virtual: bool) {
        self.threads.define(tid, name, os_tid, is_virtual);
    }

    /// The following calls and events are of this thread; 0 = of no thread.
    #[inline]
    pub fn set_thread(&mut self, tid: u64) {
        self.threads.set_current(tid);
    }

    /// Records one call by the current thread.
    #[inline]
    pub fn call(&mut self, probe: u32, start_nanos: u64, duration_nanos: u64) {
        if u64::from(probe) <= PROBE_MASK && duration_nanos < 1 << 40 {
            self.calls(&[[start_nanos, duration_nanos << 24 | u64::from(probe)]]);
        } else {
            self.make_room();
            self.call_the_long_way(probe, start_nanos, duration_nanos);
        }
    }

    /// Records the calls of a run of normal ring records of the current thread: {start, duration << 24 | probe}.
    pub fn calls(&mut self, records: &[[u64; 2]]) {
        for batch in records.chunks(BATCH) {
            self.make_room();
            self.batch(batch);
        }
    }

    fn batch(&mut self, batch: &[[u64; 2]]) {
        let mut rest = batch;
        while !rest.is_empty() {
            let chunk = self.constants.chunk();
            let thread = self.threads.use_current(chunk);
            let frame = CallFrame { thread, start_ticks: self.start_ticks, chunk };
            let encoded = encode_calls(self.probes.tails(), frame, rest, self.chunk.free());
            self.chunk.advance(encoded.bytes, encoded.records, encoded.end);
            self.statistics.calls += encoded.records as u64;
            let other = rest.get(encoded.records..).unwrap_or_default();
            rest = other;
            if let Some(([start, word], following)) = other.split_first() {
                self.make_room();
                self.call_the_long_way((word & PROBE_MASK) as u32, *start, word >> 24);
                rest = following;
            }
        }
    }

    /// A call that the fast loop leaves out: the first of its probe in this chunk, of an unknown probe, begun before the
    /// recording, or longer than 2^40 ns.
    #[cold]
    fn call_the_long_way(&mut self, probe: u32, start_nanos: u64, duration_nanos: u64) {
        let (start, duration) = self.ticks(start_nanos, duration_nanos);
        self.statistics.calls += 1;
        self.statistics.unknown_probes += u64::from(!self.probes.is_known(probe));
        let tail = self.probes.use_probe(probe, &mut self.constants);
        let thread = self.threads.use_current(self.constants.chunk());
        if let Some(window) = self.chunk.free().first_chunk_mut::<CALL_WINDOW>() {
            let length = encode_call(window, pack(start), pack(duration), thread, &tail);
            self.chunk.advance(length, 1, start + duration);
        }
    }

    /// Start and duration on the file's clock. What began before the recording is cut at its start; no time is so late
    /// that it needs more than eight bytes (that would be two years).
    fn ticks(&self, start_nanos: u64, duration_nanos: u64) -> (u64, u64) {
        const LATEST: u64 = PACKED_LIMIT - 1;
        let start = start_nanos.wrapping_sub(self.start_ticks) as i64;
        let duration = duration_nanos.min(LATEST);
        if start < 0 {
            return (0, duration.saturating_sub(start.unsigned_abs()));
        }
        let start = start.unsigned_abs().min(LATEST);
        (start, duration.min(LATEST - start))
    }

    /// Writes the chunk to the file if it is full.
    #[inline]
    fn make_room(&mut self) {
        if self.is_chunk_full() {
            let result = self.write_chunk(false);
            self.keep_first_error(result);
        }
    }

    #[inline]
    fn is_chunk_full(&self) -> bool {
        self.chunk.event_bytes() + self.constant_bytes() >= self.max_chunk_bytes
    }

    fn constant_bytes(&self) -> usize {
        let pools = self.constants.pools();
        let others = self.stacks.pools().into_iter().chain([self.threads.pool()]);
        pools.into_iter().chain(others).map(Pool::byte_count).sum()
    }

    fn keep_first_error(&mut self, result: io::Result<()>) {
        if let Err(error) = result {
            self.pending_error.get_or_insert(error);
        }
    }

    /// Appends the chunk under construction to the file, unless it is empty. Call it every second or so, because a kill
    /// loses what has not been written.
    ///
    /// # Errors
    /// When this chunk, or one that was full since the last call, could not be written. Its events are counted as
    /// dropped; the recording can be used further.
    pub fn flush_chunk(&mut self) -> io::Result<()> {
        if self.chunk.events() > 0 {
            let result = self.write_chunk(false);
            self.keep_first_error(result);
        }
        self.pending_error.take().map_or(Ok(()), Err)
    }

    /// Writes what is left, with the figures of the whole recording and the mark of the last chunk.
    ///
    /// # Errors
    /// As [`flush_chunk`](Recording::flush_chunk).
    pub fn finish(self) -> io::Result<RecordingStatistics> {
        let (statistics, result) = self.end();
        result.map(|()| statistics)
    }

    /// The same for those who want to know how much is in the file even if not all is.
    pub fn end(mut self) -> (RecordingStatistics, io::Result<()>) {
        self.make_room();
        self.report_drops();
        self.write_end(self.statistics);
        let result = self.write_chunk(true);
        self.keep_first_error(result);
        (self.statistics(), self.pending_error.take().map_or(Ok(()), Err))
    }

    /// True if the file has, with the chunk under construction, the size that was allowed; a recording in memory never has. Whoever records should stop and
    /// count what is lost; what is added all the same is still written.
    #[must_use]
    pub fn is_full(&self) -> bool {
        matches!(self.destination, Destination::File(_))
            && self.destination.length() + self.chunk.event_bytes() as u64 >= self.options.max_file_bytes
    }

    /// Figures up to now.
    #[must_use]
    pub fn statistics(&self) -> RecordingStatistics {
        RecordingStatistics { file_bytes: self.destination.length(), ..self.statistics }
    }

    fn write_chunk(&mut self, is_last: bool) -> io::Result<()> {
        let events = self.chunk.events();
        let (calls, lost) = self.before_chunk;
        let figures = ChunkFigures {
            first_tick: self.chunk.first_tick(),
            last_tick: self.chunk.last_tick(),
            calls: self.statistics.calls - calls,
            lost: self.statistics.lost - lost,
        };
        let pools = [self.constants.pools().as_slice(), &[self.threads.pool()], &self.stacks.pools()].concat();
        let result = self.destination.append(self.chunk.complete(&pools, is_last), figures);
        match result {
            Ok(()) => self.statistics.chunks += 1,
            Err(_) => {
                self.statistics.dropped_events += events;
                self.statistics.dropped_calls += figures.calls;
                self.statistics.lost -= figures.lost;
                self.unreported_lost += figures.calls + figures.lost;
            }
        }
        self.before_chunk = (self.statistics.calls, self.statistics.lost);
        self.next_chunk();
        self.forget_constants();
        if result.is_ok() {
            self.report_drops();
        }
        result
    }

    /// Returns the chunk under construction as it is written to a file.
    fn complete_chunk(&mut self, is_last: bool) -> &[u8] {
        let pools = [self.constants.pools().as_slice(), &[self.threads.pool()], &self.stacks.pools()].concat();
        self.chunk.complete(&pools, is_last)
    }

    fn next_chunk(&mut self) {
        self.chunk.restart();
        self.constants.next_chunk();
        self.threads.next_chunk();
        self.stacks.next_chunk();
    }

    /// Adds an event without duration: the start time, then the payload that `fields` writes.
    fn event(&mut self, type_id: u32, at: u64, fields: impl FnOnce(&mut Recording, &mut Vec<u8>)) {
        let mut payload = std::mem::take(&mut self.payload);
        payload.clear();
        varint::push(&mut payload, at);
        fields(self, &mut payload);
        self.chunk.push_event(type_id, &payload, at);
        self.payload = payload;
    }
}
