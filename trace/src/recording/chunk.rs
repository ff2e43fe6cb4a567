//! The chunk under construction: one buffer that holds the chunk as it will be written to the file.

use super::metadata::metadata_event;
use super::pool::Pool;
use crate::chunk_header::{ChunkHeader, HEADER_LENGTH};
use crate::varint;

/// Ticks are nanoseconds since the recording's start.
const TICKS_PER_SECOND: u64 = 1_000_000_000;

/// Header, metadata and events so far, in a buffer that is allocated once. Its pages are touched only as they are used.
#[derive(Debug)]
pub(super) struct ChunkBuffer {
    bytes: Vec<u8>,
    position: usize,
    events_at: usize,
    checkpoint: Vec<u8>,
    events: u64,
    start_epoch_nanos: u64,
    first_tick: u64,
    last_tick: u64,
}

impl ChunkBuffer {
    pub(super) fn new(capacity: usize, start_epoch_nanos: u64) -> ChunkBuffer {
        let metadata = metadata_event();
        let events_at = HEADER_LENGTH + metadata.len();
        let mut bytes = vec![0; events_at + capacity];
        if let Some(place) = bytes.get_mut(HEADER_LENGTH..events_at) {
            place.copy_from_slice(&metadata);
        }
        ChunkBuffer {
            bytes,
            position: events_at,
            events_at,
            checkpoint: Vec::new(),
            events: 0,
            start_epoch_nanos,
            first_tick: 0,
            last_tick: 0,
        }
    }

    pub(super) fn events(&self) -> u64 {
        self.events
    }

    pub(super) fn event_bytes(&self) -> usize {
        self.position - self.events_at
    }

    /// When the chunk begins, in ticks.
    pub(super) fn first_tick(&self) -> u64 {
        self.first_tick
    }

    /// Has the empty chunk begin at this moment.
    pub(super) fn begin_at(&mut self, tick: u64) {
        self.first_tick = tick;
        self.last_tick = tick;
    }

    /// The last moment that any event has named, in ticks.
    pub(super) fn last_tick(&self) -> u64 {
        self.last_tick
    }

    /// The space after the events.
    #[inline]
    pub(super) fn free(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.position..).unwrap_or_default()
    }

    /// `events` events of together `bytes` bytes have been written into the free space; the last ended at `end`.
    #[inline]
    pub(super) fn advance(&mut self, bytes: usize, events: usize, end: u64) {
        self.position = (self.position + bytes).min(self.bytes.len());
        self.events += events as u64;
        self.last_tick = self.last_tick.max(end);
    }

    /// Appends an event of any size.
    pub(super) fn push_event(&mut self, type_id: u32, payload: &[u8], end: u64) {
        let mut type_bytes = Vec::with_capacity(2);
        varint::push(&mut type_bytes, u64::from(type_id));
        let length = 4 + type_bytes.len() + payload.len();
        self.append(&varint::padded(length as u32));
        self.append(&type_bytes);
        self.append(payload);
        self.advance(0, 1, end);
    }

    fn append(&mut self, part: &[u8]) {
        let end = self.position + part.len();
        if end > self.bytes.len() {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(self.position..end) {
            place.copy_from_slice(part);
            self.position = end;
        }
    }

    /// Completes the chunk and returns its bytes, ready for the file.
    pub(super) fn complete(&mut self, pools: &[&Pool], is_last: bool) -> &[u8] {
        let checkpoint_offset = self.position as u64;
        self.encode_checkpoint(pools);
        let checkpoint = std::mem::take(&mut self.checkpoint);
        self.append(&checkpoint);
        self.checkpoint = checkpoint;
        let header = ChunkHeader {
            size: self.position as u64,
            checkpoint_offset,
            metadata_offset: HEADER_LENGTH as u64,
            // All chunks lie on one straight line of ticks: readers convert with the first one they see.
            start_epoch_nanos: self.start_epoch_nanos.saturating_add(self.first_tick),
            duration_nanos: self.last_tick - self.first_tick,
            start_ticks: self.first_tick,
            ticks_per_second: TICKS_PER_SECOND,
            state: 0,
            compressed: true,
            is_last,
        };
        if let Some(place) = self.bytes.get_mut(..HEADER_LENGTH) {
            place.copy_from_slice(&header.encode());
        }
        self.bytes.get(..self.position).unwrap_or_default()
    }

    fn encode_checkpoint(&mut self, pools: &[&Pool]) {
        let out = &mut self.checkpoint;
        out.clear();
        out.extend_from_slice(&[0; 4]);
        let (checkpoint_type, duration, no_previous) = (1, 0, 0);
        for number in [checkpoint_type, self.last_tick, duration, no_previous] {
            varint::push(out, number);
        }
        let used = pools.iter().filter(|pool| !pool.is_empty());
        out.push(0);
        varint::push(out, used.clone().count() as u64);
        used.for_each(|pool| pool.write(out));
        let length = varint::padded(out.len() as u32);
        if let Some(place) = out.first_chunk_mut() {
            *place = length;
        }
    }

    /// Starts the next chunk where this one has ended, but later than this one has started: of two chunks with the same
    /// start JDK Mission Control reads only one.
    pub(super) fn restart(&mut self) {
        self.position = self.events_at;
        self.events = 0;
        self.first_tick = self.last_tick.max(self.first_tick + 1);
        self.last_tick = self.first_tick;
    }
}
