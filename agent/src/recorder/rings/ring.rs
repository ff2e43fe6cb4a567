//! The ring of one carrier thread: a header that Java code reads and writes, and the segments it has filled.
//!
//! One writer (the carrier thread, in Java code and in [`Ring::next_segment`]) and one reader (the drainer); neither waits
//! for the other. Segments of a ring are numbered; the drainer reads the present one only when all before it are done,
//! so records are read in the order in which they were written. Only the drainer returns segments to the pool, hence what
//! it is reading cannot be reused under its hands.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;
use records::{RecordSink, RecordThread};

use super::header_table::{Header, Word};
use super::record_stream::{Malformed, StreamState, decode};
use super::segment_pool::{SEGMENT_BYTES, SegmentIndex, SegmentPool};

/// One ring, with the header that its carrier thread finds in the table.
#[derive(Debug)]
pub(crate) struct Ring {
    header: &'static Header,
    /// Number of the present segment within the ring in the high half, its link in the low half.
    current: AtomicU64,
    /// Filled segments, latest first.
    filled: AtomicU32,
    /// Set at the end of the thread: nothing is written any more.
    ended: AtomicBool,
    /// Id of the carrier thread; 0 if it had none yet.
    carrier: u64,
    /// The operating system's number of the carrier thread.
    os_thread: u64,
    drained: Mutex<Drained>,
}

/// What the drainer knows of a ring.
#[derive(Debug, Default)]
struct Drained {
    /// How many segments have been read to their end.
    segments: u32,
    stream: StreamState,
    /// Lost records that have been reported.
    lost_reported: u64,
}

/// What draining a ring found.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DrainedNow {
    /// Words read.
    pub(crate) words: usize,
    /// Records lost since the last time.
    pub(crate) lost: u64,
    /// Segments with a broken stream.
    pub(crate) malformed: u64,
}

impl Ring {
    /// The ring of the calling thread, without a segment: Java code asks for one before its first record.
    pub(crate) fn new(header: &'static Header, os_thread: u64) -> Ring {
        // Java code notes the thread before the first record, except where the stack overflowed in between.
        let carrier = RecordThread { id: header.carrier(), is_virtual: false };
        let stream = StreamState { thread: carrier, ..StreamState::default() };
        Ring {
            header,
            current: AtomicU64::new(pack(0, None)),
            filled: AtomicU32::new(SegmentIndex::to_link(None)),
            ended: AtomicBool::new(false),
            carrier: carrier.id,
            os_thread,
            drained: Mutex::new(Drained { stream, ..Drained::default() }),
        }
    }

    /// What Java code reads and writes of the ring.
    pub(crate) fn header(&self) -> &'static Header {
        self.header
    }

    /// Id of the carrier thread; 0 if it had none yet.
    pub(crate) fn carrier(&self) -> u64 {
        self.carrier
    }

    /// The operating system's number of the thread that writes here.
    pub(crate) fn os_thread(&self) -> u64 {
        self.os_thread
    }

    /// Called by the writer when the segment cannot take its next record: gives the segment to the drainer and installs a
    /// new one. Without a free segment position and end are equal afterwards, and the writer counts losses.
    pub(crate) fn next_segment(&self, pool: &SegmentPool) {
        let sequence = self.give_up_segment(pool);
        let taken = pool.take();
        if let Some((index, segment)) = taken.and_then(|index| Some((index, pool.get(index)?))) {
            let start = segment.address();
            self.header.word(Word::End).store(start + SEGMENT_BYTES as u64, Ordering::Relaxed);
            self.header.word(Word::Position).store(start, Ordering::Release);
            // After the position: a drainer that sees the new segment must not take the old position for one inside it.
            self.current.store(pack(sequence, Some(index)), Ordering::Release);
        }
    }

    /// Gives the present segment, if any, to the drainer, and returns the number of the next one.
    fn give_up_segment(&self, pool: &SegmentPool) -> u32 {
        let (sequence, current) = unpack(self.current.load(Ordering::Relaxed));
        let Some((index, segment)) = current.and_then(|index| Some((index, pool.get(index)?))) else { return sequence };
        let position = self.header.word(Word::Position).load(Ordering::Relaxed);
        segment.filled_words.store(segment.words_before(position).unwrap_or(0), Ordering::Relaxed);
        let next = sequence.wrapping_add(1);
        self.current.store(pack(next, None), Ordering::Release);
        self.header.word(Word::End).store(position, Ordering::Relaxed);
        pool.note_filled();
        let mut head = self.filled.load(Ordering::Relaxed);
        loop {
            segment.link.store(head, Ordering::Relaxed);
            let link = SegmentIndex::to_link(Some(index));
            match self.filled.compare_exchange_weak(head, link, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return next,
                Err(changed) => head = changed,
            }
        }
    }

    /// The thread ends. Since JDK 21 the one that ends the JVM runs some more Java code when its end has been reported: that finds no
    /// header and opens another ring.
    pub(crate) fn end(&self, pool: &SegmentPool) {
        self.give_up_segment(pool);
        self.header.hide();
        self.ended.store(true, Ordering::Release);
    }

    /// Whether the thread has ended. If it had before the last [`Ring::drain`], the ring can go.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// Reads everything that has been written and not been read yet. Called by one thread at a time.
    pub(crate) fn drain(&self, pool: &SegmentPool, sink: &mut impl RecordSink) -> DrainedNow {
        let mut drained = self.drained.lock();
        let mut now = DrainedNow::default();
        for index in self.take_filled(pool) {
            if let Some(segment) = pool.get(index) {
                let filled = segment.filled_words.load(Ordering::Relaxed);
                drained.read(pool, index, filled, sink, &mut now);
            }
            drained.segments = drained.segments.wrapping_add(1);
            pool.release_drained(index);
        }
        let (sequence, current) = unpack(self.current.load(Ordering::Acquire));
        let position = self.header.word(Word::Position).load(Ordering::Acquire);
        if let Some(index) = current.filter(|_| sequence == drained.segments) {
            // Outside this segment if the writer has just moved on: then its end is among the filled ones.
            if let Some(words) = pool.get(index).and_then(|segment| segment.words_before(position)) {
                drained.read(pool, index, words, sink, &mut now);
            }
        }
        let lost = self.header.word(Word::Lost).load(Ordering::Acquire);
        now.lost += lost.saturating_sub(drained.lost_reported);
        drained.lost_reported = lost;
        now
    }

    /// The thread to which lost records are attributed: the last one seen or, if there was no room for any record yet, the
    /// carrier thread.
    pub(crate) fn last_thread(&self) -> u64 {
        self.drained.lock().stream.thread.id
    }

    /// Filled segments, oldest first.
    fn take_filled(&self, pool: &SegmentPool) -> Vec<SegmentIndex> {
        let mut link = self.filled.swap(SegmentIndex::to_link(None), Ordering::Acquire);
        let mut indices = Vec::new();
        while let Some(index) = SegmentIndex::from_link(link) {
            indices.push(index);
            link = pool.get(index).map_or(SegmentIndex::to_link(None), |segment| segment.link.load(Ordering::Relaxed));
        }
        indices.reverse();
        indices
    }
}

impl Drained {
    fn read(
        &mut self,
        pool: &SegmentPool,
        index: SegmentIndex,
        until: usize,
        sink: &mut impl RecordSink,
        now: &mut DrainedNow,
    ) {
        let Some(segment) = pool.get(index) else { return };
        let from = segment.drained_words.load(Ordering::Relaxed);
        let Some(words) = segment.words().get(from..until).filter(|words| !words.is_empty()) else { return };
        sink.thread(self.stream.thread);
        let decoded = decode(words, &mut self.stream, sink);
        now.lost += std::mem::take(&mut self.stream.dropped);
        if let Err(Malformed { at }) = decoded {
            tracing::error!(at, "a ring holds something that is not a record; the rest of its segment is lost");
            now.malformed += 1;
        }
        now.words += words.len();
        segment.drained_words.store(until, Ordering::Relaxed);
    }
}

fn pack(sequence: u32, index: Option<SegmentIndex>) -> u64 {
    u64::from(sequence) << 32 | u64::from(SegmentIndex::to_link(index))
}

fn unpack(packed: u64) -> (u32, Option<SegmentIndex>) {
    ((packed >> 32) as u32, SegmentIndex::from_link(packed as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::rings::header_table::HeaderTable;
    use records::{Detail, RecordThread};

    /// Writes records as the Java side does, through the header.
    struct Writer<'a> {
        ring: &'a Ring,
        pool: &'a SegmentPool,
        lost: u64,
    }

    impl Writer<'_> {
        fn write(&mut self, first: u64, second: u64) {
            let (mut at, mut end) = self.position();
            if at == end {
                self.ring.next_segment(self.pool);
                (at, end) = self.position();
            }
            if at == end {
                self.lost += 1;
                self.ring.header.word(Word::Lost).store(self.lost, Ordering::Release);
                return;
            }
            let (_, index) = unpack(self.ring.current.load(Ordering::Relaxed));
            let segment = self.pool.get(index.unwrap()).unwrap();
            let word = segment.words_before(at).unwrap();
            segment.words()[word].store(first, Ordering::Relaxed);
            segment.words()[word + 1].store(second, Ordering::Relaxed);
            self.ring.header.word(Word::Position).store(at + 16, Ordering::Release);
        }

        fn position(&self) -> (u64, u64) {
            (
                self.ring.header.word(Word::Position).load(Ordering::Relaxed),
                self.ring.header.word(Word::End).load(Ordering::Relaxed),
            )
        }
    }

    fn ring() -> Ring {
        let table: &HeaderTable = Box::leak(Box::new(HeaderTable::new()));
        Ring::new(table.claim(1).unwrap(), 1)
    }

    #[derive(Default)]
    struct Starts(Vec<u64>);

    impl RecordSink for Starts {
        fn thread(&mut self, _: RecordThread) {}
        fn thread_name(&mut self, _: u64, _: &[u8]) {}
        fn calls(&mut self, calls: &[[u64; 2]]) {
            self.0.extend(calls.iter().map(|[start, _]| start));
        }
        fn long_call(&mut self, _: u32, _: u64, _: u64) {}
        fn detail(&mut self, _: Detail<'_>) {}
    }

    #[test]
    fn records_come_once_and_in_order_while_the_writer_goes_on() {
        let (pool, ring) = (SegmentPool::new(6 * SEGMENT_BYTES), ring());
        let mut starts = Starts::default();
        let (mut lost, done) = (0, AtomicBool::new(false));
        const CALLS: u64 = 300_000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut writer = Writer { ring: &ring, pool: &pool, lost: 0 };
                (1..=CALLS).for_each(|start| writer.write(start, 7 << 24 | 1));
                done.store(true, Ordering::Release);
            });
            loop {
                let last = done.load(Ordering::Acquire);
                lost += ring.drain(&pool, &mut starts).lost;
                if last {
                    break;
                }
            }
        });
        assert!(starts.0.is_sorted_by(|a, b| a < b), "in order, none twice");
        assert_eq!(starts.0.len() as u64 + lost, CALLS);
        assert!(!starts.0.is_empty());
    }

    #[test]
    fn without_free_segments_every_record_is_counted_as_lost_until_the_drainer_comes() {
        let (pool, ring) = (SegmentPool::new(0), ring());
        let room = (pool.capacity() * SEGMENT_BYTES / 16) as u64;
        let mut writer = Writer { ring: &ring, pool: &pool, lost: 0 };
        (0..room + 10).for_each(|start| writer.write(start, 1 << 24 | 1));
        let mut starts = Starts::default();
        let now = ring.drain(&pool, &mut starts);
        assert_eq!((starts.0.len() as u64, now.lost), (room, 10));
        writer.write(99, 1 << 24 | 1);
        assert_eq!(ring.drain(&pool, &mut starts), DrainedNow { words: 2, lost: 0, malformed: 0 });
    }

    #[test]
    fn an_ended_ring_gives_its_segment_back() {
        let (pool, ring) = (SegmentPool::new(0), ring());
        let mut writer = Writer { ring: &ring, pool: &pool, lost: 0 };
        writer.write(5, 1 << 24 | 1);
        ring.end(&pool);
        assert!(ring.has_ended() && !ring.header().belongs_to(1), "its thread must not find it again");
        let mut starts = Starts::default();
        ring.drain(&pool, &mut starts);
        assert_eq!((starts.0.as_slice(), pool.free_count()), ([5].as_slice(), pool.capacity()));
    }
}
