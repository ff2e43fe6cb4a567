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
    fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// A call that may contain the calls still to come.
#[derive(Debug, Clone, Copy)]
struct Open {
    start: u64,
    node: NodeId,
}

/// The tree under construction and what is still open in each thread.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    platform: FxHashMap<u64, Vec<Open>>,
    virtual_threads: FxHashMap<u64, VirtualThread>,
    pub(super) frames: Frames,
    pub(super) tree: CallTree,
}

#[derive(Debug, Default)]
struct VirtualThread {
    open: Vec<Open>,
    held_back: Vec<CallRecord>,
}

impl Nesting {
    /// Adds the calls of a platform thread in one chunk, in the order of the file. They come through one ring, so this
    /// is the order of their ends, whatever the times say (those of level watch are rounded).
    pub(super) fn add_platform(&mut self, thread: u64, records: &[CallRecord], totals: &mut ThreadTotals) {
        let open = self.platform.entry(thread).or_default();
        let mut place = Place { frames: &mut self.frames, tree: &mut self.tree, totals };
        records.iter().rev().for_each(|record| place.add(open, record));
    }

    /// Adds the calls of a virtual thread in one chunk, in the order of the file.
    pub(super) fn add_virtual(&mut self, thread: u64, records: &[CallRecord]) {
        let state = self.virtual_threads.entry(thread).or_default();
        // What was held back comes from later chunks.
        state.held_back.splice(0..0, records.iter().copied());
    }

    /// A chunk is complete: nothing in the chunks before it ends after `start`.
    pub(super) fn chunk_done(&mut self, start: u64, totals: &mut ThreadTotals) {
        let mut place = Place { frames: &mut self.frames, tree: &mut self.tree, totals };
        self.virtual_threads.retain(|_, thread| {
            thread.place_calls_after(start, &mut place);
            while thread.open.pop_if(|open| open.start >= start).is_some() {}
            !thread.open.is_empty() || !thread.held_back.is_empty()
        });
    }
}

impl VirtualThread {
    /// Adds those calls to the tree around which no call can come any more.
    fn place_calls_after(&mut self, start: u64, place: &mut Place<'_>) {
        // Callers first: the later end, then the earlier start; of equal intervals the one that was written later.
        self.held_back.reverse();
        self.held_back.sort_by_key(|record| (std::cmp::Reverse(record.end()), record.start));
        let ready = self.held_back.partition_point(|record| record.end() > start);
        for record in self.held_back.drain(..ready) {
            place.add(&mut self.open, &record);
        }
        self.held_back.reverse();
    }
}

/// Where calls are added up.
struct Place<'a> {
    frames: &'a mut Frames,
    tree: &'a mut CallTree,
    totals: &'a mut ThreadTotals,
}

impl Place<'_> {
    /// Adds a call that ends before all those that are open: it is inside the innermost one that began before it.
    fn add(&mut self, open: &mut Vec<Open>, record: &CallRecord) {
        while open.pop_if(|inner| inner.start > record.start).is_some() {}
        let parent = open.last().map_or(NodeId::ROOT, |inner| inner.node);
        let (node, is_outermost) = self.tree.add(parent, record.frame, record.duration, record.exact);
        open.push(Open { start: record.start, node });
        if let Some(frame) = self.frames.get_mut(record.frame) {
            frame.add(record.duration, record.exact, is_outermost);
        }
        self.totals.add(record.duration, parent == NodeId::ROOT);
    }
}
