//! The bounded memory that records are written to: segments of 64 KiB, off the Java heap.
//!
//! Java threads take a free segment without a lock (a stack of indices whose head carries a tag against reuse races), the
//! drainer puts it back when it has read it. A segment's memory is allocated when it is first needed and then kept.
//! The configured amount is what full segments may take; in addition there is one segment for each thread that records at the
//! same time, so that hundreds of idle threads, each with a hardly used segment, do not leave the busy ones without memory.
//! The words are atomics because Java code writes them by address; no `unsafe` is needed to read them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Size of a segment.
pub(crate) const SEGMENT_BYTES: usize = 64 * 1024;
/// Size of a segment in 8-byte words.
pub(crate) const SEGMENT_WORDS: usize = SEGMENT_BYTES / 8;

/// Number of a segment within its pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentIndex(u32);

/// "No segment" in the links between segments.
const NONE: u32 = u32::MAX;

impl SegmentIndex {
    /// The index as a link; `None` becomes a value that no segment has.
    pub(crate) fn to_link(index: Option<SegmentIndex>) -> u32 {
        index.map_or(NONE, |index| index.0)
    }

    /// The opposite of [`SegmentIndex::to_link`].
    pub(crate) fn from_link(link: u32) -> Option<SegmentIndex> {
        (link != NONE).then_some(SegmentIndex(link))
    }
}

/// One segment.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    words: OnceLock<Box<[AtomicU64]>>,
    /// The segment below this one in whatever list it is in.
    pub(crate) link: AtomicU32,
    /// How many words hold records; valid once the segment has been given to the drainer.
    pub(crate) filled_words: AtomicUsize,
    /// How many of them the drainer has read; only the drainer writes it.
    pub(crate) drained_words: AtomicUsize,
}

impl Segment {
    /// The memory.
    pub(crate) fn words(&self) -> &[AtomicU64] {
        self.words.get_or_init(|| (0..SEGMENT_WORDS).map(|_| AtomicU64::new(0)).collect())
    }

    /// Address of the first word, as Java code sees it.
    pub(crate) fn address(&self) -> u64 {
        self.words().as_ptr() as u64
    }

    /// Words between the start and an address inside this segment (or at its end).
    pub(crate) fn words_before(&self, address: u64) -> Option<usize> {
        let bytes = usize::try_from(address.checked_sub(self.address())?).ok()?;
        (bytes <= SEGMENT_BYTES).then_some(bytes / 8)
    }
}

/// Half a megabyte.
const PRESSING: usize = 8;

/// The number of threads that add a segment of their own.
const THREADS: usize = 4096;

/// All segments.
#[derive(Debug)]
pub(crate) struct SegmentPool {
    segments: Box<[Segment]>,
    /// Top of the stack of free segments: tag in the high half, link in the low half.
    free: AtomicU64,
    free_count: AtomicUsize,
    /// Segments that may be used; those after them are for further threads.
    capacity: AtomicUsize,
    /// Segments that are full and not drained.
    undrained: AtomicUsize,
}

impl SegmentPool {
    /// A pool of at most `bytes`, but at least a few segments.
    pub(crate) fn new(bytes: usize) -> SegmentPool {
        let count = (bytes / SEGMENT_BYTES).clamp(4, 1 << 20);
        let pool = SegmentPool {
            segments: (0..count + THREADS).map(|_| Segment::default()).collect(),
            free: AtomicU64::new(u64::from(NONE)),
            free_count: AtomicUsize::new(0),
            capacity: AtomicUsize::new(count),
            undrained: AtomicUsize::new(0),
        };
        // Pushed in reverse, so that low indices are used (and allocated) first.
        (0..count)
            .rev()
            .filter_map(|index| u32::try_from(index).ok())
            .for_each(|index| pool.release(SegmentIndex(index)));
        pool
    }

    /// The segment with this number.
    pub(crate) fn get(&self, index: SegmentIndex) -> Option<&Segment> {
        self.segments.get(index.0 as usize)
    }

    /// How many segments there are.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity.load(Ordering::Relaxed)
    }

    /// One more thread records: one more segment.
    pub(crate) fn grow(&self) {
        let index = self.capacity.fetch_add(1, Ordering::Relaxed);
        match u32::try_from(index) {
            Ok(index) if (index as usize) < self.segments.len() => self.release(SegmentIndex(index)),
            _ => drop(self.capacity.fetch_sub(1, Ordering::Relaxed)),
        }
    }

    /// A segment has been filled.
    pub(crate) fn note_filled(&self) {
        self.undrained.fetch_add(1, Ordering::Relaxed);
    }

    /// A filled segment has been drained.
    pub(crate) fn release_drained(&self, index: SegmentIndex) {
        self.undrained.fetch_sub(1, Ordering::Relaxed);
        self.release(index);
    }

    /// Whether the drainer has so many segments to drain that it should not sleep. The limit is low: segments that are reused soon are still
    /// in the caches, and the same few are used again and again.
    pub(crate) fn is_pressing(&self) -> bool {
        self.undrained.load(Ordering::Relaxed) > (self.capacity() / 8).min(PRESSING)
    }

    /// How many segments are free at the moment.
    #[cfg(test)]
    pub(crate) fn free_count(&self) -> usize {
        self.free_count.load(Ordering::Relaxed)
    }

    /// Takes a free segment; never waits.
    pub(crate) fn take(&self) -> Option<SegmentIndex> {
        let mut head = self.free.load(Ordering::Acquire);
        loop {
            let index = SegmentIndex::from_link(head as u32)?;
            let below = self.get(index)?.link.load(Ordering::Relaxed);
            match self.free.compare_exchange_weak(head, next_head(head, below), Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => {
                    self.free_count.fetch_sub(1, Ordering::Relaxed);
                    return Some(index);
                }
                Err(changed) => head = changed,
            }
        }
    }

    /// Puts a segment back. Its content is forgotten.
    pub(crate) fn release(&self, index: SegmentIndex) {
        let Some(segment) = self.get(index) else { return };
        segment.drained_words.store(0, Ordering::Relaxed);
        segment.filled_words.store(0, Ordering::Relaxed);
        let mut head = self.free.load(Ordering::Relaxed);
        loop {
            segment.link.store(head as u32, Ordering::Relaxed);
            match self.free.compare_exchange_weak(head, next_head(head, index.0), Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => break,
                Err(changed) => head = changed,
            }
        }
        self.free_count.fetch_add(1, Ordering::Relaxed);
    }
}

/// A new head: the tag moves on with each change, so that a head seen before is never mistaken for the present one.
fn next_head(head: u64, link: u32) -> u64 {
    ((head >> 32).wrapping_add(1) << 32) | u64::from(link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn an_empty_pool_gives_nothing_and_a_released_segment_comes_back() {
        let pool = SegmentPool::new(0);
        let taken: Vec<_> = std::iter::from_fn(|| pool.take()).collect();
        assert_eq!(taken.len(), pool.capacity());
        assert_eq!((pool.free_count(), pool.take()), (0, None));
        pool.release(taken[2]);
        assert_eq!(pool.take(), Some(taken[2]));
    }

    #[test]
    fn each_thread_brings_a_segment_until_there_are_enough() {
        let pool = SegmentPool::new(0);
        let before = pool.capacity();
        (0..THREADS + 10).for_each(|_| pool.grow());
        assert_eq!((pool.capacity(), pool.free_count()), (before + THREADS, before + THREADS));
    }

    #[test]
    fn addresses_map_back_to_words_and_foreign_ones_do_not() {
        let pool = SegmentPool::new(0);
        let segment = pool.get(pool.take().unwrap()).unwrap();
        assert_eq!(segment.words_before(segment.address() + 32), Some(4));
        assert_eq!(segment.words_before(segment.address() + SEGMENT_BYTES as u64), Some(SEGMENT_WORDS));
        assert_eq!(segment.words_before(segment.address() + SEGMENT_BYTES as u64 + 8), None);
        assert_eq!(segment.words_before(segment.address() - 8), None);
    }

    #[test]
    fn no_segment_is_ever_owned_by_two_threads() {
        let pool = SegmentPool::new(8 * SEGMENT_BYTES);
        let owned: Vec<AtomicBool> = (0..pool.capacity()).map(|_| AtomicBool::new(false)).collect();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..50_000 {
                        if let Some(index) = pool.take() {
                            assert!(!owned[index.0 as usize].swap(true, Ordering::AcqRel), "two owners");
                            owned[index.0 as usize].store(false, Ordering::Release);
                            pool.release(index);
                        }
                    }
                });
            }
        });
        assert_eq!(pool.free_count(), pool.capacity());
    }
}
