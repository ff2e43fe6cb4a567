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

use super::blocks::BlockClock;
use super::call_details::PendingDetails;
use super::frames::Frames;
use super::likely_times::{Likely, learn, likely_times};
use super::pending::Pending;
use super::slices::{Slice, SliceVisitor};
use super::tree::{CallTree, NodeId};
use super::{FrameId, threads::ThreadTotals};
use crate::{EndedCall, NestingEvidence, Placement};

/// A call of one thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallRecord {
    pub(super) start: u64,
    pub(super) duration: u64,
    pub(super) frame: FrameId,
    pub(super) exact: bool,
    /// The call began before this moment; its start if times are exact.
    pub(super) entered_before: u64,
    /// Recorded at level full.
    pub(super) full: bool,
    /// Late ticks make the length useless, see [`crate::WatchedLengths`].
    pub(super) blurred: bool,
}

impl CallRecord {
    pub(super) fn new(start: u64, duration: u64, frame: FrameId, exact: bool) -> CallRecord {
        let entered_before = if exact { start } else { start.saturating_add(duration) };
        CallRecord { start, duration, frame, exact, entered_before, full: false, blurred: false }
    }

    pub(super) fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }

    /// Returns the call as the rule for nesting sees it.
    pub(super) fn ended(&self) -> EndedCall {
        EndedCall { start: self.start, end: self.end(), entered_before: self.entered_before, method: self.frame.0 }
    }
}

/// A call that may contain the calls still to come.
#[derive(Debug, Clone, Copy)]
struct Open {
    call: EndedCall,
    /// It began at the earliest then: an estimated start may lie before that of the caller.
    earliest: u64,
    /// Position, in the chunk that is being read, of the first record within the call, if one before it is known.
    first: Option<usize>,
    /// The start as visitors see it, see [`OpenCalls::fit`].
    fitted_start: u64,
    node: NodeId,
    frame: FrameId,
    /// The block of time in which it ended, if there are blocks.
    block: Option<usize>,
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
    /// Closes the calls in which this one, at a position in the chunk, was not made.
    fn close_before(&mut self, record: &CallRecord, position: usize, order: Order<'_>) {
        let call = record.ended();
        self.close_while(|around| !match call.placement_in(&around.call) {
            _ if record.exact && record.start < around.earliest => false,
            Placement::Inside => order.is_known || !order.evidence.may_be_reversed(&call, &around.call),
            Placement::Beside => false,
            Placement::Unknown => match around.first {
                Some(first) => first <= position,
                None => order.evidence.is_inside(&call, &around.call),
            },
        });
    }

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

/// What is known about the order of the calls of a thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct Order<'a> {
    pub(super) evidence: &'a NestingEvidence,
    /// Whether the records are in the order of the true ends.
    pub(super) is_known: bool,
}

/// The tree under construction and what is still open in each thread.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    platform: FxHashMap<u64, OpenCalls>,
    virtual_threads: FxHashMap<u64, VirtualThread>,
    pub(super) frames: Frames,
    pub(super) tree: CallTree,
    /// Values of calls that are still to come.
    pub(super) arguments: Pending<String>,
    /// Requests, statements and transfers whose calls are still to come.
    pub(super) details: PendingDetails,
    /// Into which blocks of time calls are put.
    pub(super) blocks: BlockClock,
    /// Which methods were seen within which calls of level watch.
    evidence: NestingEvidence,
    /// Calls that ended before this moment are not among those that are added.
    pub(super) kept_from: u64,
    /// Calls that had begun before that moment.
    pub(super) cut_calls: u64,
}

#[derive(Debug, Default)]
struct VirtualThread {
    open: OpenCalls,
    held_back: Vec<CallRecord>,
}

impl Nesting {
    /// Learns from the calls of a thread in one chunk what is around what, before any call of the chunk is added.
    pub(super) fn learn(&mut self, records: &[CallRecord], is_virtual: bool) {
        if records.iter().any(|record| !record.exact) && records.iter().any(|record| record.exact) {
            learn(records, is_virtual, &mut self.evidence);
        }
    }

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
        let Nesting { frames, tree, arguments, details, blocks, evidence, kept_from, cut_calls, .. } = self;
        let order = Order { evidence, is_known: true };
        let mut place = Place {
            frames,
            tree,
            arguments,
            details,
            blocks: *blocks,
            totals,
            visitor,
            order,
            kept_from: *kept_from,
            cut_calls,
        };
        place.add_all(thread, open, records);
    }

    /// Adds the calls of a virtual thread in one chunk, in the order of the file.
    pub(super) fn add_virtual(&mut self, thread: u64, records: &[CallRecord]) {
        let state = self.virtual_threads.entry(thread).or_default();
        // What was held back is from later chunks.
        state.held_back.splice(0..0, records.iter().copied());
    }

    /// A chunk is complete: nothing in the chunks before it ends after `start`.
    pub(super) fn chunk_done(&mut self, start: u64, totals: &mut ThreadTotals, visitor: &mut impl SliceVisitor) {
        let Nesting {
            frames, tree, arguments, details, blocks, virtual_threads, evidence, kept_from, cut_calls, ..
        } = self;
        let order = Order { evidence, is_known: false };
        let mut place = Place {
            frames,
            tree,
            arguments,
            details,
            blocks: *blocks,
            totals,
            visitor,
            order,
            kept_from: *kept_from,
            cut_calls,
        };
        virtual_threads.retain(|id, thread| {
            thread.place_calls_after(start, *id, &mut place);
            thread.open.close_while(|open| open.earliest >= start);
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
        let mut records: Vec<CallRecord> = self.held_back.drain(..ready).collect();
        records.reverse();
        place.add_all(id, &mut self.open, &records);
        self.held_back.reverse();
    }
}

/// Where calls are added up.
struct Place<'a, V> {
    frames: &'a mut Frames,
    tree: &'a mut CallTree,
    arguments: &'a mut Pending<String>,
    details: &'a mut PendingDetails,
    blocks: BlockClock,
    totals: &'a mut ThreadTotals,
    visitor: &'a mut V,
    order: Order<'a>,
    kept_from: u64,
    cut_calls: &'a mut u64,
}

impl<V: SliceVisitor> Place<'_, V> {
    /// Adds calls of a thread, which end before those that are open.
    fn add_all(&mut self, thread: u64, open: &mut OpenCalls, records: &[CallRecord]) {
        let has_estimates = records.iter().any(|record| !record.exact);
        if has_estimates && (V::SEES_TIMES || records.iter().any(|record| record.exact)) {
            let likely = likely_times(records, self.order);
            let all = records.iter().zip(&likely).enumerate().rev();
            all.for_each(|(position, (record, likely))| self.add(thread, open, record, (position, likely)));
        } else {
            records.iter().rev().for_each(|record| self.add(thread, open, record, (0, &Likely::as_recorded(record))));
        }
        open.calls.iter_mut().for_each(|open| open.first = None);
    }

    /// Adds a call that ends before all those that are open, with its position in the chunk.
    fn add(&mut self, thread: u64, open: &mut OpenCalls, record: &CallRecord, (position, likely): (usize, &Likely)) {
        open.close_before(record, position, self.order);
        let parent = open.calls.last().map_or(NodeId::ROOT, |inner| inner.node);
        let depth = open.calls.len();
        let CallRecord { frame: frame_id, duration, exact, .. } = *record;
        if self.tree.is_full() && self.tree.left_out().is_none() {
            self.tree.leave_out(self.frames.left_out());
        }
        let (node, mut is_outermost) = self.tree.add(parent, frame_id, duration, exact);
        if record.full && node != parent {
            self.tree.count_full(node);
        }
        if self.tree.is_left_out(node) {
            is_outermost = open.calls.iter().all(|around| around.frame != frame_id);
            self.own_time_of_left_out(open, node, record);
        }
        let (start, end) = open.fit(likely.times);
        // A rounded start may lie before that of the caller; what ended in between is inside neither.
        let caller = open.calls.last().map(|inner| (inner.earliest, inner.frame));
        let caller_start = caller.map_or(0, |(start, _)| start);
        let (call, earliest) = (record.ended(), record.start.max(caller_start));
        if record.start < self.kept_from {
            *self.cut_calls += 1;
            self.tree.mark_own_as_estimate(node);
            if let Some(frame) = self.frames.get_mut(frame_id) {
                frame.cut = frame.cut.saturating_add(self.kept_from - record.start);
            }
        }
        for in_doubt in caller.map(|(_, frame)| frame).into_iter().chain([frame_id]).filter(|_| likely.doubtful > 0) {
            if let Some(frame) = self.frames.get_mut(in_doubt) {
                frame.doubtful = frame.doubtful.saturating_add(likely.doubtful);
            }
        }
        let block = self.blocks.block(record.end());
        if let Some(block) = block {
            self.add_to_block(block, record, is_outermost, open.calls.last());
        }
        open.calls.push(Open {
            call,
            earliest,
            first: likely.first,
            fitted_start: start,
            node,
            frame: frame_id,
            block,
        });
        if let Some(frame) = self.frames.get_mut(frame_id) {
            frame.add(duration, exact, is_outermost);
            if record.blurred {
                frame.times.blur(duration);
            }
            let recorded = (thread, record.start, duration);
            let arguments = self.arguments.take(recorded, frame_id, frame);
            let detail = self.details.take(recorded, frame_id, frame);
            self.visitor.slice(&Slice {
                thread,
                frame_id,
                frame,
                node,
                parent,
                depth,
                start,
                end,
                duration,
                exact,
                arguments: arguments.as_deref(),
                detail: detail.as_ref(),
            });
        }
        self.totals.add(duration, parent == NodeId::ROOT);
    }

    /// Adds a call to its block of time; its time is no longer that of the caller, in the caller's block.
    fn add_to_block(&mut self, block: usize, record: &CallRecord, is_outermost: bool, caller: Option<&Open>) {
        let duration = record.duration;
        if let Some(of_method) = self.frames.get_mut(record.frame).and_then(|frame| frame.block_mut(block)) {
            of_method.calls += 1;
            of_method.sum = of_method.sum.saturating_add(duration);
            of_method.total = of_method.total.saturating_add(if is_outermost { duration } else { 0 });
            of_method.own = of_method.own.saturating_add_unsigned(duration);
        }
        if let Some((caller, block)) = caller.and_then(|caller| Some((caller.frame, caller.block?)))
            && let Some(of_caller) = self.frames.get_mut(caller).and_then(|frame| frame.block_mut(block))
        {
            of_caller.own = of_caller.own.saturating_sub_unsigned(duration);
        }
    }

    /// A call without a node of its own: its time is its method's, and no longer that of the caller, if that has no node
    /// either (a caller with a node sees it among its children).
    #[cold]
    fn own_time_of_left_out(&mut self, open: &OpenCalls, node: NodeId, record: &CallRecord) {
        if let Some(frame) = self.frames.get_mut(record.frame) {
            frame.own = frame.own.saturating_add(record.duration);
        }
        if let Some(caller) = open.calls.last().filter(|caller| caller.node == node)
            && let Some(frame) = self.frames.get_mut(caller.frame)
        {
            frame.own = frame.own.saturating_sub(record.duration);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::slices::Unseen;

    /// 2,000 calls of seven methods that call each other at random, as they are recorded.
    fn records() -> Vec<CallRecord> {
        fn call(records: &mut Vec<CallRecord>, random: &mut u64, now: &mut u64, depth: u32) {
            let start = *now;
            *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let dice = *random >> 33;
            *now += dice % 90;
            for _ in 0..if depth == 0 { 0 } else { dice % 4 } {
                call(records, random, now, depth - 1);
                *now += 3;
            }
            records.push(CallRecord::new(start, *now - start, FrameId((dice % 7) as u32), true));
        }
        let (mut records, mut random, mut now) = (Vec::new(), 5, 0);
        while records.len() < 2_000 {
            call(&mut records, &mut random, &mut now, 6);
        }
        records
    }

    fn nesting(most_nodes: usize) -> Nesting {
        let mut nesting = Nesting { tree: CallTree::with_room(most_nodes), ..Nesting::default() };
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            nesting.frames.id((
                Some(crate::reader::Method { name, descriptor: "()V", ..crate::reader::Method::of_class("C") }),
                "",
            ));
        }
        nesting.add_platform(1, &records(), &mut ThreadTotals::default(), &mut Unseen);
        nesting.tree.complete();
        nesting
    }

    /// Calls, total and own time by method.
    fn figures(nesting: &Nesting) -> Vec<(u64, u64, u64)> {
        let mut own: Vec<u64> = nesting.frames.frames.iter().map(|frame| frame.own).collect();
        for node in nesting.tree.nodes().iter().skip(1).filter(|node| node.frame != nesting.tree.left_out()) {
            own[node.frame.unwrap().index()] += node.own;
        }
        nesting.frames.frames.iter().zip(own).map(|(frame, own)| (frame.calls, frame.total, own)).take(7).collect()
    }

    #[test]
    fn a_full_tree_sums_up_new_paths_and_keeps_every_figure_of_a_method() {
        let all = nesting(usize::MAX);
        assert!(all.tree.left_out().is_none() && all.tree.nodes().len() > 500, "{}", all.tree.nodes().len());
        for most_nodes in [1, 2, 10, 300] {
            let some = nesting(most_nodes);
            assert!(some.tree.left_out().is_some() && some.tree.nodes().len() <= 2 * most_nodes + 1, "{most_nodes}");
            assert_eq!(figures(&some), figures(&all), "{most_nodes}");
            assert_eq!(some.tree.total(), all.tree.total());
        }
    }

    #[test]
    fn own_time_and_that_of_the_children_make_up_the_total_of_every_node() {
        for most_nodes in [usize::MAX, 100] {
            let Nesting { tree, .. } = nesting(most_nodes);
            for node in tree.nodes() {
                let below: u64 = node.children.iter().map(|child| tree.node(*child).unwrap().total).sum();
                assert_eq!(node.own + below, node.total);
            }
            assert_eq!(tree.nodes().iter().map(|node| node.own).sum::<u64>(), tree.total());
        }
    }
}
