//! Chunks are read and taken apart on threads of their own, ahead of the one that adds up.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

use rustc_hash::FxHashMap;

use super::FrameId;
use super::nesting::CallRecord;
use crate::reader::{Call, Chunk, Event, ReadError, Thread, TraceReader};

/// More threads would only wait for the one that adds up.
const MOST_THREADS: usize = 4;

/// A chunk whose calls are apart by threads.
#[derive(Debug)]
pub(super) struct DecodedChunk {
    pub(super) chunk: Chunk,
    /// Calls that were left out because they are early.
    pub(super) early: u64,
    /// Keys of method and template; the `frame` of a call is a position in this list.
    pub(super) methods: Vec<(u64, u64)>,
    pub(super) threads: Vec<(Thread, Vec<CallRecord>)>,
    /// Start and length of ticks after which the next one was late.
    pub(super) late_ticks: Vec<(u64, u64)>,
    /// Start of the events that are no calls.
    others: Vec<usize>,
}

impl DecodedChunk {
    /// Reads a chunk. Calls that end before `begin` are only counted.
    fn read(reader: &TraceReader, index: usize, begin: u64) -> Result<DecodedChunk, ReadError> {
        let chunk = reader.chunk(index)?;
        let mut calls = CallsByThread::default();
        let mut methods = Methods::default();
        let (mut early, mut late_ticks, mut others) = (0, Vec::new(), Vec::new());
        let mut events = chunk.events();
        loop {
            let position = events.position();
            match events.next() {
                None => break,
                Some(Ok(Event::MethodCall(call))) => {
                    let Call { start, duration, exact, .. } = call;
                    if start.saturating_add(duration) < begin {
                        early += 1;
                        continue;
                    }
                    let frame = methods.id((call.method, call.template));
                    calls.add(&chunk, call.thread, CallRecord::new(start, duration, frame, exact));
                }
                Some(event) => {
                    if let Ok(Event::LateTick { start, duration }) = event {
                        late_ticks.push((start, duration));
                    }
                    others.push(position);
                }
            }
        }
        Ok(DecodedChunk { early, methods: methods.keys, threads: calls.threads, late_ticks, others, chunk })
    }

    /// All events that are no calls, in the order of the file; perhaps an error in the end.
    pub(super) fn other_events(&self) -> impl Iterator<Item = Result<Event<'_>, ReadError>> {
        self.others.iter().filter_map(|position| self.chunk.events_from(*position).next())
    }
}

/// Reads all chunks, and gives them to `take` from the last to the first until it wants no more.
pub(super) fn decode_backward(
    reader: &TraceReader,
    begin: u64,
    mut take: impl FnMut(usize, Result<DecodedChunk, ReadError>) -> bool,
) {
    let count = reader.chunk_count();
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MOST_THREADS).min(count);
    thread::scope(|scope| {
        let decode = |first: usize| {
            // A thread hands over what it has before it reads on: memory stays that of a chunk for each.
            let (sender, receiver) = sync_channel(0);
            scope.spawn(move || {
                for index in (0..count).rev().skip(first).step_by(threads) {
                    if sender.send(DecodedChunk::read(reader, index, begin)).is_err() {
                        break;
                    }
                }
            });
            receiver
        };
        let receivers: Vec<Receiver<_>> = (0..threads).map(decode).collect();
        for (index, receiver) in (0..count).rev().zip(receivers.iter().cycle()) {
            // A sender is only gone if its thread panicked, which ends the scope.
            let Ok(decoded) = receiver.recv() else { break };
            if !take(index, decoded) {
                break;
            }
        }
    });
}

/// The methods of a chunk, numbered as they come up.
#[derive(Debug, Default)]
struct Methods {
    ids: FxHashMap<(u64, u64), FrameId>,
    keys: Vec<(u64, u64)>,
}

impl Methods {
    fn id(&mut self, keys: (u64, u64)) -> FrameId {
        *self.ids.entry(keys).or_insert_with(|| {
            self.keys.push(keys);
            FrameId(self.keys.len() as u32 - 1)
        })
    }
}

/// The calls of a chunk, apart by threads. A thread that was renamed has several keys but stays one.
#[derive(Debug, Default)]
struct CallsByThread {
    /// Key and position of the thread of the last call: calls come in runs.
    last: Option<(u64, usize)>,
    by_key: FxHashMap<u64, usize>,
    by_id: FxHashMap<u64, usize>,
    threads: Vec<(Thread, Vec<CallRecord>)>,
}

impl CallsByThread {
    fn add(&mut self, chunk: &Chunk, key: u64, record: CallRecord) {
        let index = match (self.last, self.by_key.get(&key)) {
            (Some((last, index)), _) if last == key => index,
            (_, Some(index)) => *index,
            (_, None) => self.add_key(chunk, key),
        };
        self.last = Some((key, index));
        if let Some((_, records)) = self.threads.get_mut(index) {
            records.push(record);
        }
    }

    fn add_key(&mut self, chunk: &Chunk, key: u64) -> usize {
        let unknown = || Thread { name: "(no thread)".to_owned(), ..Thread::default() };
        let thread = chunk.thread(key).cloned().unwrap_or_else(unknown);
        let index = *self.by_id.entry(thread.id).or_insert(self.threads.len());
        match self.threads.get_mut(index) {
            Some((known, _)) => known.name = thread.name,
            None => self.threads.push((thread, Vec::new())),
        }
        self.by_key.insert(key, index);
        index
    }
}
