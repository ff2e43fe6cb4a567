//! Who called whom: rebuilt from the start and end of calls alone.
//!
//! Calls are written when they end, so in the file a caller follows what it called, perhaps chunks later. Read forward,
//! every call would have to be kept until its caller shows up. So the file is read **backward**: callers come first, and a
//! thread needs no more memory than its deepest call stack.
//!
//! The calls of a virtual thread may come through the rings of several carriers, whose records are written in turns, so
//! their order in the file is not quite that of their ends. They are sorted, and a call is held back as long as an
//! earlier chunk may hold a call around it: a chunk begins at the latest end of all calls before it.

use rustc_hash::FxHashMap;

use super::frames::Frames;
use super::likely_times::likely_times;
use super::slices::{Slice, SliceVisitor};
use super::tree::{CallTree, NodeId};
use super::{FrameId, threads::ThreadTotals};

/// A call of one thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRecord {
    pub(super) start: u64,
    pub(super) duration: u64,
    pub(super) frame: FrameId,
    pub(super) exact: bool,
}

impl CallRecord {
    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }

    /// Whether the call is inside one that began at `start` and ended after it. The start of an estimate was rounded
    /// down, perhaps to before that of its caller; but calls do not overlap, so one that still ran then is inside.
    pub(super) fn is_inside_from(&self, start: u64) -> bool {
        start <= self.start || (!self.exact && start < self.end())
    }

    fn times(&self) -> (u64, u64) {
        (self.start, self.end())
    }
}

/// A call that may contain the calls still to come.
#[derive(Debug, Clone, Copy)]
struct Open {
    start: u64,
    /// The start as visitors see it, see [`OpenCalls::fit`].
    fitted_start: u64,
    node: NodeId,
}

/// The open calls of a thread, the outermost first.
#[derive(Debug)]
struct OpenCalls {
    calls: Vec<Open>,
    /// Nothing that visitors still have to see of this thread is later.
    latest: u64,
}

impl Default for OpenCalls {
    fn default() -> Self {
        OpenCalls { calls: Vec::new(), latest: u64::MAX }
    }
}

impl OpenCalls {
    fn close_while(&mut self, is_over: impl Fn(&Open) -> bool) {
        while let Some(inner) = self.calls.pop_if(|inner| is_over(inner)) {
            self.latest = self.latest.min(inner.fitted_start);
        }
    }

    /// Start and end of a call, moved inside the innermost open one and before all that has been seen. Only what is
    /// left of rounding and damaged files need that.
    fn fit(&mut self, (start, end): (u64, u64)) -> (u64, u64) {
        let earliest = self.calls.last().map_or(0, |inner| inner.fitted_start);
        self.latest = end.max(earliest).min(self.latest);
        (start.max(earliest).min(self.latest), self.latest)
    }
}

/// The tree under construction and what is still open in each thread.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    platform: FxHashMap<u64, OpenCalls>,
    virtual_threads: FxHashMap<u64, VirtualThread>,
    pub(super) frames: Frames,
    pub(super) tree: CallTree,
}

#[derive(Debug, Default)]
struct VirtualThread {
    open: OpenCalls,
    held_back: Vec<CallRecord>,
}

impl Nesting {
    /// Adds the calls of a platform thread in one chunk, in the order of the file. They come through one ring, so this
    /// is the order of their ends, whatever the times say (those of level watch are rounded).
    pub(super) fn add_platform<V: SliceVisitor>(
        &mut self,
        thread: u64,
        records: &[CallRecord],
        totals: &mut ThreadTotals,
        visitor: &mut V,
    ) {
        let open = self.platform.entry(thread).or_default();
        let mut place = Place { frames: &mut self.frames, tree: &mut self.tree, totals, visitor };
        if V::SEES_TIMES {
            let times = likely_times(records).into_iter();
            records.iter().zip(times).rev().for_each(|(record, times)| place.add(thread, open, record, times));
        } else {
            records.iter().rev().for_each(|record| place.add(thread, open, record, record.times()));
        }
    }

    /// Adds the calls of a virtual thread in one chunk, in the order of the file.
    pub(super) fn add_virtual(&mut self, thread: u64, records: &[CallRecord]) {
        let state = self.virtual_threads.entry(thread).or_default();
        // What was held back comes from later chunks.
        state.held_back.splice(0..0, records.iter().copied());
    }

    /// A chunk is complete: nothing in the chunks before it ends after `start`.
    pub(super) fn chunk_done(&mut self, start: u64, totals: &mut ThreadTotals, visitor: &mut impl SliceVisitor) {
        let mut place = Place { frames: &mut self.frames, tree: &mut self.tree, totals, visitor };
        self.virtual_threads.retain(|id, thread| {
            thread.place_calls_after(start, *id, &mut place);
            thread.open.close_while(|open| open.start >= start);
            !thread.open.calls.is_empty() || !thread.held_back.is_empty()
        });
    }
}

impl VirtualThread {
    /// Adds those calls to the tree around which no call can come any more.
    fn place_calls_after(&mut self, start: u64, id: u64, place: &mut Place<'_, impl SliceVisitor>) {
        // Callers first: the later end, then the earlier start; of equal intervals the one that was written later.
        self.held_back.reverse();
        self.held_back.sort_by_key(|record| (std::cmp::Reverse(record.end()), record.start));
        let ready = self.held_back.partition_point(|record| record.end() > start);
        for record in self.held_back.drain(..ready) {
            place.add(id, &mut self.open, &record, record.times());
        }
        self.held_back.reverse();
    }
}

/// Where calls are added up.
struct Place<'a, V> {
    frames: &'a mut Frames,
    tree: &'a mut CallTree,
    totals: &'a mut ThreadTotals,
    visitor: &'a mut V,
}

impl<V: SliceVisitor> Place<'_, V> {
    /// Adds a call that ends before all those that are open: it is inside the innermost one that began before it.
    fn add(&mut self, thread: u64, open: &mut OpenCalls, record: &CallRecord, times: (u64, u64)) {
        open.close_while(|inner| !record.is_inside_from(inner.start));
        let parent = open.calls.last().map_or(NodeId::ROOT, |inner| inner.node);
        let depth = open.calls.len();
        let (node, is_outermost) = self.tree.add(parent, record.frame, record.duration, record.exact);
        let (start, end) = open.fit(times);
        // A rounded start may lie before that of the caller; what ended in between is inside neither.
        let caller_start = open.calls.last().map_or(0, |inner| inner.start);
        open.calls.push(Open { start: record.start.max(caller_start), fitted_start: start, node });
        let CallRecord { frame: frame_id, duration, exact, .. } = *record;
        if let Some(frame) = self.frames.get_mut(frame_id) {
            frame.add(duration, exact, is_outermost);
            self.visitor.slice(&Slice { thread, frame_id, frame, node, parent, depth, start, end, duration, exact });
        }
        self.totals.add(duration, parent == NodeId::ROOT);
    }
}
