//! The call tree of transactions.

use rustc_hash::FxHashMap;

use super::FrameId;

/// Calls by a path for which there is no room are counted for the call around them.
const MOST_NODES: usize = 1_000_000;

/// All calls of one method by one path through the threads of a transaction.
#[derive(Debug, Clone, Default)]
pub struct TransactionNode {
    /// The method; `None` for the root.
    pub frame: Option<FrameId>,
    /// Position of the node above; the root is its own.
    pub parent: usize,
    /// Whether it ran in a task that the call above handed over, usually on another thread and beside it.
    pub is_elsewhere: bool,
    /// Number of calls.
    pub calls: u64,
    /// Time in the method and all that it called on its own thread, in nanoseconds, without calls that begin transactions of their own.
    pub total: u64,
    /// Whether `total` is an estimate: some calls were measured by ticks.
    pub is_estimated: bool,
    /// Time in the method itself.
    pub own: u64,
    /// Whether `own` is an estimate.
    pub own_is_estimated: bool,
    /// Time of calls within that begin transactions of their own.
    pub(super) elsewhere: u64,
    /// Of `total`, what passed while the call above still ran; for tasks only.
    pub beside: u64,
    /// Positions of the nodes below, the one with the largest total first.
    pub children: Vec<usize>,
}

/// The tree under construction.
#[derive(Debug)]
pub(super) struct TransactionTree {
    nodes: Vec<TransactionNode>,
    known: FxHashMap<(usize, FrameId, bool), usize>,
}

impl Default for TransactionTree {
    fn default() -> Self {
        TransactionTree { nodes: vec![TransactionNode::default()], known: FxHashMap::default() }
    }
}

impl TransactionTree {
    /// Above all transactions.
    pub(super) const ROOT: usize = 0;

    /// The node for a method below another.
    pub(super) fn child(&mut self, parent: usize, frame: FrameId, is_elsewhere: bool) -> usize {
        if let Some(known) = self.known.get(&(parent, frame, is_elsewhere)) {
            return *known;
        }
        if self.nodes.len() >= MOST_NODES {
            return parent;
        }
        let node = self.nodes.len();
        self.nodes.push(TransactionNode { frame: Some(frame), parent, is_elsewhere, ..TransactionNode::default() });
        self.known.insert((parent, frame, is_elsewhere), node);
        node
    }

    /// Adds a call.
    pub(super) fn add(&mut self, node: usize, duration: u64, beside: u64, exact: bool) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.calls += 1;
            node.is_estimated |= !exact;
            node.total = node.total.saturating_add(duration);
            node.beside = node.beside.saturating_add(beside);
        }
    }

    /// A call within this node is a transaction of its own: its time is not that of the calls around it.
    pub(super) fn leave_to_another(&mut self, node: usize, duration: u64) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.elsewhere = node.elsewhere.saturating_add(duration);
        }
    }

    /// Subtracts the time of other transactions from all calls around them.
    fn subtract_other_transactions(&mut self) {
        // Children follow their parents.
        for index in (1..self.nodes.len()).rev() {
            let Some(node) = self.nodes.get_mut(index) else { continue };
            node.total = node.total.saturating_sub(node.elsewhere);
            let (parent, elsewhere) = (node.parent, if node.is_elsewhere { 0 } else { node.elsewhere });
            if let Some(parent) = self.nodes.get_mut(parent) {
                parent.elsewhere = parent.elsewhere.saturating_add(elsewhere);
            }
        }
    }

    /// Links the children and computes own times. Tasks take no time of the call that handed them over.
    pub(super) fn finish(mut self) -> Vec<TransactionNode> {
        self.subtract_other_transactions();
        let mut below = vec![(0_u64, false, Vec::new()); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if let Some((total, is_estimated, children)) = below.get_mut(node.parent) {
                *is_estimated |= node.is_estimated && !node.is_elsewhere;
                children.push(index);
                *total = total.saturating_add(if node.is_elsewhere { 0 } else { node.total });
            }
        }
        for (.., children) in &mut below {
            children.sort_by_key(|child| std::cmp::Reverse(self.nodes.get(*child).map_or(0, |node| node.total)));
        }
        for (node, (total, is_estimated, children)) in self.nodes.iter_mut().zip(below) {
            node.own_is_estimated = is_estimated || node.is_estimated;
            node.own = node.total.saturating_sub(total);
            node.children = children;
        }
        if let Some(root) = self.nodes.first_mut() {
            root.own = 0;
        }
        self.nodes
    }
}
