//! The call tree of all calls up to now, kept up while the program runs: for those who ask, without any file.
//!
//! Calls are recorded when they end, inner ones first, and nobody knows whether a call around them is still running. So the
//! outermost calls of a thread wait, each with all within it; a call that ends takes those that began after it. Waiting calls
//! beyond a number are put together, the oldest first, by runs of one method, and are taken together: if a call began in the
//! midst of such a group, the group stays outermost and is counted as misplaced. All else is exact, and equals the tree of the file.

use std::collections::VecDeque;

use records::{EndedCalls, RecordThread};
use rustc_hash::FxHashMap;
use trace::{EndedCall, NestingEvidence, Placement};

/// Calls of a thread that wait one by one.
const MOST_WAITING: usize = 512;
/// Groups of calls of a thread that wait.
const MOST_GROUPS: usize = 256;
/// Calls in one another that have nodes of their own.
const DEEPEST: u32 = 200;
/// Nodes of all threads together, 80 bytes each.
const MOST_NODES: usize = 200_000;
/// Most threads that are distinguished; of more, those without calls for long are considered ended.
const MOST_THREADS: usize = 10_000;
const SILENT_FOR_LONG: u64 = 10_000_000_000;

/// All calls of a probe by one path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreeNode {
    /// The probe.
    pub(crate) probe: u32,
    /// Calls.
    pub(crate) calls: u64,
    /// Time of the calls with all within them, in nanoseconds.
    pub(crate) total: u64,
    /// Times of single calls: the shortest and the longest, and the sum of their squares.
    pub(crate) shortest: u64,
    pub(crate) longest: u64,
    pub(crate) squares: u128,
    /// Calls within, by probe.
    pub(crate) children: Vec<TreeNode>,
    height: u32,
}

/// The tree as it is reported.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct TreeSnapshot {
    /// The outermost calls of all threads.
    pub(crate) roots: Vec<TreeNode>,
    /// Calls that have no node: too deep, or too many.
    pub(crate) left_out: u64,
    /// Groups of calls that may be too near the root.
    pub(crate) misplaced: u64,
}

/// The tree while it grows.
#[derive(Debug)]
pub(crate) struct LiveTree {
    ended_calls: EndedCalls,
    /// Which methods were seen within which calls of level watch.
    evidence: NestingEvidence,
    threads: FxHashMap<u64, Waiting>,
    /// The calls of threads that have ended.
    ended: Vec<TreeNode>,
    /// Calls of virtual threads since the last round: several carriers record them, in no order among each other.
    unordered: Vec<(u64, u64, u64, u32)>,
    thread: RecordThread,
    size: Size,
    misplaced: u64,
}

/// What does not wait any more, to be kept in bounds.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    nodes: usize,
    left_out: u64,
}

/// The outermost calls of a thread, in the order of time.
#[derive(Debug, Default)]
struct Waiting {
    groups: VecDeque<Group>,
    calls: Vec<(EndedCall, TreeNode)>,
    last_end: u64,
}

/// Calls that can only be taken together.
#[derive(Debug)]
struct Group {
    first: EndedCall,
    last: EndedCall,
    calls: Vec<TreeNode>,
}

impl LiveTree {
    /// Returns a tree without calls.
    pub(crate) fn new(ended_calls: EndedCalls) -> LiveTree {
        let (threads, ended, unordered, thread, size, misplaced, evidence) = Default::default();
        LiveTree { ended_calls, evidence, threads, ended, unordered, thread, size, misplaced }
    }

    /// The following calls are of this thread.
    pub(crate) fn thread(&mut self, thread: RecordThread) {
        self.thread = thread;
    }

    /// A call has ended.
    pub(crate) fn call(&mut self, probe: u32, start: u64, duration: u64) {
        let end = start.saturating_add(duration);
        if self.thread.is_virtual {
            self.unordered.push((end, start, self.thread.id, probe));
        } else {
            self.add(self.thread.id, probe, start, end);
        }
    }

    /// All rings have been read once; what ended before `began` is complete.
    pub(crate) fn round_done(&mut self, began: u64) {
        if !self.unordered.is_empty() {
            // Of equal ends the inner call began later.
            self.unordered.sort_by_key(|(end, start, ..)| (*end, std::cmp::Reverse(*start)));
            let ready = self.unordered.partition_point(|(end, ..)| *end < began);
            let rest = self.unordered.split_off(ready);
            for (end, start, thread, probe) in std::mem::replace(&mut self.unordered, rest) {
                self.add(thread, probe, start, end);
            }
        }
        if self.threads.len() > MOST_THREADS {
            let before = began.saturating_sub(SILENT_FOR_LONG);
            let silent = self.threads.iter().filter(|(_, waiting)| waiting.last_end < before);
            for thread in silent.map(|(thread, _)| *thread).collect::<Vec<_>>() {
                self.thread_gone(thread);
            }
        }
    }

    /// A thread has ended: none of its calls waits any more.
    pub(crate) fn thread_gone(&mut self, thread: u64) {
        for node in self.threads.remove(&thread).into_iter().flat_map(Waiting::into_nodes) {
            merge(&mut self.ended, node, &mut self.size);
        }
    }

    /// The tree of all calls up to now.
    pub(crate) fn snapshot(&self) -> TreeSnapshot {
        let mut roots = self.ended.clone();
        let mut size = self.size;
        for waiting in self.threads.values() {
            let groups = waiting.groups.iter().flat_map(|group| &group.calls);
            for node in groups.chain(waiting.calls.iter().map(|(_, node)| node)) {
                merge(&mut roots, node.clone(), &mut size);
            }
        }
        TreeSnapshot { roots, left_out: self.size.left_out, misplaced: self.misplaced }
    }

    fn add(&mut self, thread: u64, probe: u32, start: u64, end: u64) {
        let call = self.ended_calls.call(probe, start, end.saturating_sub(start));
        let LiveTree { threads, size, misplaced, evidence, .. } = self;
        let waiting = threads.entry(thread).or_default();
        waiting.last_end = end;
        let mut node = TreeNode::of_call(probe, end.saturating_sub(start));
        size.nodes += 1;
        let within = waiting.calls.iter().rev().take_while(|(inner, _)| evidence.learn_and_place(inner, &call)).count();
        let first = waiting.calls.len() - within;
        if first == 0 {
            let is_within = |inner: &EndedCall| inner.placement_in(&call) == Placement::Inside;
            while waiting.groups.back().is_some_and(|group| is_within(&group.first)) {
                let inner = waiting.groups.pop_back().into_iter().flat_map(|group| group.calls);
                inner.for_each(|inner| node.take(inner, size));
            }
            *misplaced += u64::from(waiting.groups.back().is_some_and(|group| is_within(&group.last)));
        }
        waiting.calls.drain(first..).for_each(|(_, inner)| node.take(inner, size));
        if node.height > DEEPEST || size.nodes > MOST_NODES {
            node.cut(size);
        }
        waiting.calls.push((call, node));
        if waiting.calls.len() > MOST_WAITING {
            waiting.put_together(size);
        }
    }
}

impl Waiting {
    /// Makes groups of the older half: of each run of calls of one method, which were most likely made by the same call.
    fn put_together(&mut self, size: &mut Size) {
        let mut last_probe = None;
        for (call, node) in self.calls.drain(..MOST_WAITING / 2) {
            if last_probe != Some(node.probe) {
                last_probe = Some(node.probe);
                self.groups.push_back(Group { first: call, last: call, calls: Vec::new() });
            }
            let Some(group) = self.groups.back_mut() else { continue };
            group.last = call;
            merge(&mut group.calls, node, size);
        }
        while self.groups.len() > MOST_GROUPS {
            let (Some(oldest), Some(next)) = (self.groups.pop_front(), self.groups.front_mut()) else { return };
            next.first = oldest.first;
            oldest.calls.into_iter().for_each(|node| merge(&mut next.calls, node, size));
        }
    }

    fn into_nodes(self) -> impl Iterator<Item = TreeNode> {
        self.groups.into_iter().flat_map(|group| group.calls).chain(self.calls.into_iter().map(|(_, node)| node))
    }
}

impl TreeNode {
    fn of_call(probe: u32, time: u64) -> TreeNode {
        let squares = u128::from(time) * u128::from(time);
        TreeNode {
            probe,
            calls: 1,
            total: time,
            shortest: time,
            longest: time,
            squares,
            height: 1,
            children: Vec::new(),
        }
    }

    /// Takes a call that was made within this one.
    fn take(&mut self, inner: TreeNode, size: &mut Size) {
        self.height = self.height.max(inner.height + 1);
        merge(&mut self.children, inner, size);
    }

    /// Forgets what is deeper than the calls that were made by this one.
    fn cut(&mut self, size: &mut Size) {
        for child in &mut self.children {
            for node in std::mem::take(&mut child.children) {
                let (nodes, calls) = node.count();
                size.nodes = size.nodes.saturating_sub(nodes);
                size.left_out += calls;
            }
            child.height = 1;
        }
        self.height = 1 + u32::from(!self.children.is_empty());
    }

    /// Calls of this node and all below.
    pub(crate) fn all_calls(&self) -> u64 {
        self.count().1
    }

    /// Nodes and calls, this one included.
    fn count(&self) -> (usize, u64) {
        let below = self.children.iter().map(TreeNode::count);
        below.fold((1, self.calls), |(nodes, calls), below| (nodes + below.0, calls + below.1))
    }
}

/// Puts a node among its siblings, which are in the order of probes. Recursion ends at [`DEEPEST`].
fn merge(siblings: &mut Vec<TreeNode>, node: TreeNode, size: &mut Size) {
    match siblings.binary_search_by_key(&node.probe, |sibling| sibling.probe) {
        Err(place) => siblings.insert(place, node),
        Ok(place) => {
            let Some(same) = siblings.get_mut(place) else { return };
            size.nodes = size.nodes.saturating_sub(1);
            same.calls += node.calls;
            same.total = same.total.saturating_add(node.total);
            same.shortest = same.shortest.min(node.shortest);
            same.longest = same.longest.max(node.longest);
            same.squares = same.squares.saturating_add(node.squares);
            same.height = same.height.max(node.height);
            node.children.into_iter().for_each(|child| merge(&mut same.children, child, size));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use instrument_core::level::Level;
    use records::probe_registry::ProbeRequest;
    use records::{BOOT, ProbeRegistry};

    use super::*;

    impl LiveTree {
        fn exact() -> LiveTree {
            LiveTree::new(EndedCalls::new(Box::leak(Box::default()), Default::default()))
        }
    }

    fn tree(calls: &[(u64, u32, u64, u64)]) -> LiveTree {
        let mut tree = LiveTree::exact();
        for (thread, probe, start, end) in calls {
            tree.thread(RecordThread { id: *thread, is_virtual: false });
            tree.call(*probe, *start, end - start);
        }
        tree
    }

    fn shape(nodes: &[TreeNode]) -> String {
        let text = |node: &TreeNode| format!("{}x{}:{}[{}]", node.probe, node.calls, node.total, shape(&node.children));
        nodes.iter().map(text).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn calls_of_a_path_are_one_node_and_threads_are_put_together() {
        let tree =
            tree(&[(1, 3, 12, 14), (1, 3, 15, 18), (1, 2, 11, 20), (1, 1, 10, 30), (1, 9, 40, 41), (2, 1, 5, 9)]);
        assert_eq!(shape(&tree.snapshot().roots), "1x2:24[2x1:9[3x2:5[]]] 9x1:1[]");
    }

    #[test]
    fn a_call_that_lasts_as_long_as_the_program_takes_all_groups() {
        let mut calls: Vec<_> = (0..100_000).map(|at| (1, 7 + at as u32 % 3, 10 + at * 10, 15 + at * 10)).collect();
        calls.push((1, 1, 5, 2_000_000));
        let snapshot = tree(&calls).snapshot();
        assert_eq!((snapshot.left_out, snapshot.misplaced), (0, 0));
        assert_eq!(shape(&snapshot.roots), "1x1:1999995[7x33334:166670[] 8x33333:166665[] 9x33333:166665[]]");
    }

    #[test]
    fn a_call_may_begin_between_two_runs() {
        let mut calls = vec![(1, 3, 0, 4), (1, 4, 5, 8)];
        calls.extend((0..10_000).map(|at| (1, 7, 10 + at * 10, 15 + at * 10)));
        calls.push((1, 4, 9, 2_000_000));
        let snapshot = tree(&calls).snapshot();
        assert_eq!(snapshot.misplaced, 0);
        assert_eq!(shape(&snapshot.roots), "3x1:4[] 4x2:1999994[7x10000:50000[]]");
    }

    #[test]
    fn a_call_that_began_in_a_group_is_told() {
        let mut calls: Vec<_> = (0..10_000).map(|at| (1, 7, 10 + at * 10, 15 + at * 10)).collect();
        calls.push((1, 1, 1_005, 2_000_000));
        let snapshot = tree(&calls).snapshot();
        assert_eq!(snapshot.misplaced, 1);
        let calls: u64 = snapshot.roots.iter().map(|root| root.count().1).sum();
        assert_eq!(calls, 10_001);
    }

    /// Probe 1 records ticks, probe 2 exact times: siblings, although the record of the watched call begins before the exact call did.
    #[test]
    fn an_exact_call_before_a_watched_one_is_not_called_by_it() {
        let probes: &'static ProbeRegistry = Box::leak(Box::default());
        let request = |level| {
            let (name, descriptor) = (b"m".as_slice(), b"()V".as_slice());
            ProbeRequest { name, descriptor, access_flags: 0, template: "t", level, live: false, context: "" }
        };
        probes.numbers((b"C", BOOT), &[request(Level::Watch), request(Level::Time)]).unwrap();
        let mut tree = LiveTree::new(EndedCalls::new(probes, Arc::default()));
        for now in (0..200).map(|round| round * 10_000) {
            tree.call(2, now + 100, 50);
            tree.call(1, now, 3_000);
        }
        assert_eq!(shape(&tree.snapshot().roots), "1x200:600000[] 2x200:10000[]");
    }

    #[test]
    fn recursion_and_numbers_have_bounds() {
        let deep: Vec<_> = (0..100_000).map(|depth| (1, 7, 200_000 - depth, 300_000 + depth)).collect();
        let snapshot = tree(&deep).snapshot();
        let (nodes, calls) = snapshot.roots.iter().map(TreeNode::count).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        assert!(nodes <= DEEPEST as usize, "{nodes} nodes");
        assert_eq!(calls + snapshot.left_out, 100_000);
    }

    #[test]
    fn records_of_virtual_threads_are_put_in_order_first() {
        let mut tree = LiveTree::exact();
        tree.thread(RecordThread { id: 5, is_virtual: true });
        tree.call(1, 10, 90);
        tree.call(2, 20, 10);
        tree.round_done(100);
        assert_eq!(shape(&tree.snapshot().roots), "2x1:10[]", "the other may have calls within that are not read yet");
        tree.round_done(200);
        assert_eq!(shape(&tree.snapshot().roots), "1x1:90[2x1:10[]]");
        tree.thread_gone(5);
        assert_eq!((shape(&tree.snapshot().roots).as_str(), tree.threads.len()), ("1x1:90[2x1:10[]]", 0));
    }
}
