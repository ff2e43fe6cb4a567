//! Where a signal handler leaves what it has seen: records of a fixed size, claimed without locks, read by one thread.
//!
//! A buffer is never freed, because a handler may hold it at any time; stopping and starting again uses the same one.

use std::cell::UnsafeCell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::jvm::classes::method_facts::MethodId;

/// Records that a handler looks at before it gives up.
const TRIES: usize = 32;

const FREE: u32 = 0;
const IN_WORK: u32 = 1;
const READY: u32 = 2;

/// A frame as AsyncGetCallTrace writes it.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(super) struct RawFrame {
    /// Offset in the bytecode; -3 for a native method.
    pub(super) position: i32,
    pub(super) method: *mut c_void,
}

#[derive(Debug, Default)]
struct Head {
    state: AtomicU32,
    ticks: AtomicU32,
    /// Number of frames, or why there are none.
    outcome: AtomicI32,
    from_caller: AtomicBool,
    thread: AtomicU64,
    nanos: AtomicU64,
    counter: AtomicU64,
}

/// All records.
#[derive(Debug)]
pub(crate) struct SampleBuffer {
    heads: Box<[Head]>,
    /// `depth + 1` for each head: one more frame than is wanted shows that the stack continues.
    frames: Box<[UnsafeCell<RawFrame>]>,
    depth: usize,
    next: AtomicUsize,
    lost_ticks: AtomicU64,
}

// SAFETY: the frames of a record are written only by the handler that has claimed it (IN_WORK) and read only by the one
// reader while it is READY; the state changes hands with release and acquire.
unsafe impl Sync for SampleBuffer {}

/// Where and when a handler takes a sample; fields as in [`Sample`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) thread: u64,
    pub(super) nanos: u64,
    pub(super) ticks: u32,
    pub(super) counter: u64,
}

/// What a walk of a stack has given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Walked {
    /// Number of frames, or the code of AsyncGetCallTrace for having none.
    pub(super) outcome: i32,
    /// Whether the frames are those from the caller of what the thread was executing.
    pub(super) from_caller: bool,
}

/// What a handler has seen.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// Number of the thread's registration.
    pub(crate) thread: u64,
    /// Time on the monotonic clock, in nanoseconds.
    pub(crate) nanos: u64,
    /// Intervals of processor time that the sample represents.
    pub(crate) ticks: u32,
    /// Address of the instruction that the thread was about to execute; 0 if unknown.
    pub(crate) counter: u64,
    /// The stack, or the code of AsyncGetCallTrace for having none.
    pub(crate) stack: Result<SampledFrames<'a>, i32>,
}

/// The frames of a sample, the innermost first.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SampledFrames<'a> {
    frames: &'a [UnsafeCell<RawFrame>],
    /// Whether the stack continues.
    pub(crate) truncated: bool,
    /// Whether they begin at the caller of what the thread was executing, which has no frame that can be read.
    pub(crate) from_caller: bool,
}

impl SampledFrames<'_> {
    /// Method (if it has an id) and offset in its bytecode, `None` for a native method.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (Option<MethodId>, Option<u32>)> {
        self.frames.iter().map(|frame| {
            // SAFETY: the record is READY and this thread its only reader (see `SampleBuffer`).
            let frame = unsafe { *frame.get() };
            (MethodId::from_raw(frame.method), u32::try_from(frame.position).ok())
        })
    }
}

impl SampleBuffer {
    pub(crate) fn new(records: usize, depth: usize) -> SampleBuffer {
        let empty = || UnsafeCell::new(RawFrame { position: 0, method: std::ptr::null_mut() });
        SampleBuffer {
            heads: (0..records).map(|_| Head::default()).collect(),
            frames: (0..records * (depth + 1)).map(|_| empty()).collect(),
            depth,
            next: AtomicUsize::new(0),
            lost_ticks: AtomicU64::new(0),
        }
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// Called by the signal handler: `walk` gets the place for the frames and their number, and says how many it wrote or
    /// why it could not. Allocates nothing, waits for nothing.
    pub(super) fn record(&self, moment: Moment, walk: impl FnOnce(*mut RawFrame, i32) -> Walked) {
        let Moment { thread, nanos, ticks, counter } = moment;
        let Some(index) = self.claim() else {
            self.lost_ticks.fetch_add(u64::from(ticks), Ordering::Relaxed);
            return;
        };
        let width = self.depth + 1;
        let (Some(head), Some(frames)) = (self.heads.get(index), self.frames.get(index * width)) else { return };
        let Walked { outcome, from_caller } = walk(frames.get(), i32::try_from(width).unwrap_or(0));
        head.thread.store(thread, Ordering::Relaxed);
        head.nanos.store(nanos, Ordering::Relaxed);
        head.counter.store(counter, Ordering::Relaxed);
        head.ticks.store(ticks, Ordering::Relaxed);
        head.outcome.store(outcome, Ordering::Relaxed);
        head.from_caller.store(from_caller, Ordering::Relaxed);
        head.state.store(READY, Ordering::Release);
    }

    fn claim(&self) -> Option<usize> {
        (0..TRIES).find_map(|_| {
            let index = self.next.fetch_add(1, Ordering::Relaxed).checked_rem(self.heads.len())?;
            let state = &self.heads.get(index)?.state;
            let claimed = state.compare_exchange(FREE, IN_WORK, Ordering::Acquire, Ordering::Relaxed);
            claimed.is_ok().then_some(index)
        })
    }

    /// Shows every finished record to `take` and frees it. Only one thread at a time may do this.
    pub(crate) fn drain(&self, take: &mut dyn FnMut(Sample<'_>)) {
        for (index, head) in self.heads.iter().enumerate() {
            if head.state.load(Ordering::Acquire) != READY {
                continue;
            }
            let from = index * (self.depth + 1);
            let stack = match usize::try_from(head.outcome.load(Ordering::Relaxed)) {
                Ok(count) if count > 0 => {
                    let frames = self.frames.get(from..from + count.min(self.depth)).unwrap_or_default();
                    let from_caller = head.from_caller.load(Ordering::Relaxed);
                    Ok(SampledFrames { frames, truncated: count > self.depth, from_caller })
                }
                _ => Err(head.outcome.load(Ordering::Relaxed)),
            };
            take(Sample {
                thread: head.thread.load(Ordering::Relaxed),
                nanos: head.nanos.load(Ordering::Relaxed),
                ticks: head.ticks.load(Ordering::Relaxed),
                counter: head.counter.load(Ordering::Relaxed),
                stack,
            });
            head.state.store(FREE, Ordering::Release);
        }
    }

    /// Ticks for which no record was free, since the last time.
    pub(crate) fn take_lost_ticks(&self) -> u64 {
        self.lost_ticks.swap(0, Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(thread: u64, nanos: u64, ticks: u32) -> Moment {
        Moment { thread, nanos, ticks, counter: 0 }
    }

    fn walked(outcome: i32) -> Walked {
        Walked { outcome, from_caller: outcome == 3 }
    }

    fn fill(frames: *mut RawFrame, count: usize) {
        for index in 0..count {
            let frame = RawFrame { position: index as i32 - 1, method: (8 + index) as *mut c_void };
            // SAFETY: the tests write fewer frames than a record has.
            unsafe { frames.add(index).write(frame) };
        }
    }

    #[test]
    fn what_was_recorded_comes_out_once() {
        let buffer = SampleBuffer::new(4, 2);
        buffer.record(moment(7, 100, 1), |frames, room| {
            assert_eq!(room, 3, "one more than the depth");
            fill(frames, 2);
            walked(2)
        });
        buffer.record(moment(8, 200, 3), |_, _| walked(-5));
        buffer.record(moment(9, 300, 1), |frames, _| {
            fill(frames, 3);
            walked(3)
        });
        let mut seen = Vec::new();
        buffer.drain(&mut |sample| {
            let stack =
                sample.stack.map(|frames| (frames.iter().collect::<Vec<_>>(), frames.truncated, frames.from_caller));
            seen.push((sample.thread, sample.nanos, sample.ticks, stack));
        });
        let frame = |method: usize, position| (MethodId::from_raw(method as *mut c_void), position);
        let two = vec![frame(8, None), frame(9, Some(0))];
        assert_eq!(
            seen,
            [(7, 100, 1, Ok((two.clone(), false, false))), (8, 200, 3, Err(-5)), (9, 300, 1, Ok((two, true, true)))]
        );
        buffer.drain(&mut |_| panic!("everything was taken"));
    }

    #[test]
    fn without_room_ticks_are_counted() {
        let buffer = SampleBuffer::new(2, 1);
        for _ in 0..5 {
            buffer.record(moment(1, 1, 2), |_, _| walked(0));
        }
        assert_eq!((buffer.take_lost_ticks(), buffer.take_lost_ticks()), (6, 0));
        let mut taken = 0;
        buffer.drain(&mut |sample| taken += sample.ticks);
        assert_eq!(taken, 4);
    }

    #[test]
    fn several_writers_and_a_reader_lose_nothing_but_what_is_counted() {
        let buffer = SampleBuffer::new(64, 1);
        let taken = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|thread| {
                    scope.spawn({
                        let buffer = &buffer;
                        move || (0..20_000).for_each(|n| buffer.record(moment(thread, n, 1), |_, _| walked(-3)))
                    })
                })
                .collect();
            let mut taken = 0_u64;
            while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
                buffer.drain(&mut |_| taken += 1);
            }
            buffer.drain(&mut |_| taken += 1);
            taken
        });
        assert_eq!(taken + buffer.take_lost_ticks(), 80_000);
    }
}
