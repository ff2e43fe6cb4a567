//! The call tree: one node for each distinct path of methods, merged over all calls and threads.

use rustc_hash::FxHashMap;

use super::FrameId;

/// Nodes of a tree, about: each path with a node may have one more for what is left out below it. 100 bytes each.
const MOST_NODES: usize = 1_000_000;

/// A node of a [`CallTree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(crate) u32);

impl NodeId {
    /// The node above all threads' outermost calls.
    pub const ROOT: NodeId = NodeId(0);

    /// Position in [`CallTree::nodes`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// All calls of one method by one path.
#[derive(Debug, Clone)]
pub struct Node {
    /// The method; `None` for the root.
    pub frame: Option<FrameId>,
    /// The node of the caller; the root is its own parent.
    pub parent: NodeId,
    /// Number of calls.
    pub calls: u64,
    /// Of these: calls whose times are estimates.
    pub estimated_calls: u64,
    /// Of these: calls recorded at level full.
    pub(super) full_calls: u64,
    /// Time in the method and all that it called, in nanoseconds.
    pub total: u64,
    /// What was subtracted from the recorded `total` because it was the time of probes.
    pub(crate) probes: u64,
    /// Time in the method itself: `total` without the children's. An estimate may leave less than nothing; then it is 0.
    pub own: u64,
    /// Whether `own` is an estimate: times of these calls or of calls that they made are.
    pub own_is_estimated: bool,
    /// The methods called, the one with the largest total first.
    pub children: Vec<NodeId>,
    /// No node above is of the same method.
    pub is_outermost: bool,
    /// The child that was looked for last: calls repeat themselves, and this saves most of the look-ups.
    last_child: Option<(FrameId, NodeId)>,
}

/// What was subtracted from the times of a node.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Subtracted {
    pub(super) own: u64,
    pub(super) total: u64,
}

/// The call tree of a trace.
#[derive(Debug, Clone)]
pub struct CallTree {
    nodes: Vec<Node>,
    children: FxHashMap<(NodeId, FrameId), NodeId>,
    most_nodes: usize,
    /// The frame of the nodes that stand for all paths without nodes, from the moment on when there are some.
    left_out: Option<FrameId>,
}

impl Default for CallTree {
    fn default() -> Self {
        let root = Node {
            frame: None,
            parent: NodeId::ROOT,
            calls: 0,
            estimated_calls: 0,
            full_calls: 0,
            total: 0,
            probes: 0,
            own: 0,
            own_is_estimated: false,
            children: Vec::new(),
            is_outermost: true,
            last_child: None,
        };
        CallTree { nodes: vec![root], children: FxHashMap::default(), most_nodes: MOST_NODES, left_out: None }
    }
}

impl CallTree {
    /// Returns all nodes; parents precede their children.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// A node.
    #[must_use]
    pub fn node(&self, id: NodeId) -> Option<&Node> {
        self.nodes.get(id.index())
    }

    /// Time of all outermost calls of all threads.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.node(NodeId::ROOT).map_or(0, |root| root.total)
    }

    /// A tree with room for fewer nodes.
    #[cfg(test)]
    pub(super) fn with_room(most_nodes: usize) -> CallTree {
        CallTree { most_nodes, ..CallTree::default() }
    }

    /// The frame of the nodes that sum up paths for which there was no room.
    #[must_use]
    pub fn left_out(&self) -> Option<FrameId> {
        self.left_out
    }

    /// Whether new paths get no nodes any more.
    pub(super) fn is_full(&self) -> bool {
        self.nodes.len() >= self.most_nodes
    }

    /// From now on, new paths are summed up below the known ones, under the name of `frame`.
    pub(super) fn leave_out(&mut self, frame: FrameId) {
        self.left_out = Some(frame);
    }

    /// Whether a node represents several paths.
    pub(super) fn is_left_out(&self, id: NodeId) -> bool {
        self.left_out.is_some() && self.node(id).is_some_and(|node| node.frame == self.left_out)
    }

    /// Adds a call of `frame` by the path `parent`: the node, and whether no call around it is of the same method (which
    /// is not known of a node that represents several paths).
    pub(super) fn add(&mut self, parent: NodeId, frame: FrameId, duration: u64, exact: bool) -> (NodeId, bool) {
        self.add_many(parent, frame, (1, u64::from(!exact)), duration)
    }

    /// Adds so many samples at which `frame` was running or waiting for what it had called, and what they stand for.
    pub(crate) fn add_samples(&mut self, parent: NodeId, frame: FrameId, samples: u64, amount: u64) -> (NodeId, bool) {
        self.add_many(parent, frame, (samples, 0), amount)
    }

    fn add_many(
        &mut self,
        parent: NodeId,
        frame: FrameId,
        (calls, estimated_calls): (u64, u64),
        total: u64,
    ) -> (NodeId, bool) {
        if self.is_left_out(parent) {
            return (parent, false);
        }
        let id = self.child(parent, frame);
        if parent == NodeId::ROOT
            && let Some(root) = self.nodes.first_mut()
        {
            root.calls += calls;
            root.total = root.total.saturating_add(total);
        }
        let Some(node) = self.nodes.get_mut(id.index()) else { return (id, true) };
        node.calls += calls;
        node.estimated_calls += estimated_calls;
        node.total = node.total.saturating_add(total);
        (id, node.is_outermost)
    }

    /// Notes that the call that was added to this node was recorded at level full.
    pub(super) fn count_full(&mut self, id: NodeId) {
        if let Some(node) = self.nodes.get_mut(id.index()) {
            node.full_calls += 1;
        }
    }

    /// Notes that some of the calls that were made by this node's calls are missing.
    pub(super) fn mark_own_as_estimate(&mut self, id: NodeId) {
        if let Some(node) = self.nodes.get_mut(id.index()) {
            node.own_is_estimated = true;
        }
    }

    fn child(&mut self, parent: NodeId, frame: FrameId) -> NodeId {
        match self.node(parent).and_then(|node| node.last_child) {
            Some((last_frame, last)) if last_frame == frame => return last,
            _ => {}
        }
        let child = self.find_child(parent, frame);
        if let Some(node) = self.nodes.get_mut(parent.index()) {
            node.last_child = Some((frame, child));
        }
        child
    }

    fn find_child(&mut self, parent: NodeId, frame: FrameId) -> NodeId {
        if let Some(known) = self.children.get(&(parent, frame)) {
            return *known;
        }
        match self.left_out {
            Some(left_out) if frame != left_out => return self.find_child(parent, left_out),
            _ => {}
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node {
            frame: Some(frame),
            parent,
            calls: 0,
            estimated_calls: 0,
            full_calls: 0,
            total: 0,
            probes: 0,
            own: 0,
            own_is_estimated: false,
            children: Vec::new(),
            is_outermost: !self.path_has(parent, frame),
            last_child: None,
        });
        self.children.insert((parent, frame), id);
        id
    }

    /// Whether `frame` is on the path from the root to `node`.
    fn path_has(&self, node: NodeId, frame: FrameId) -> bool {
        let mut at = node;
        while let Some(node) = self.node(at) {
            match node.frame {
                None => return false,
                Some(other) if other == frame => return true,
                Some(_) => at = node.parent,
            }
        }
        false
    }

    /// Called once, when all calls have been added: links the children and computes own times.
    pub(super) fn complete(&mut self) {
        let mut totals: Vec<(u64, bool)> = vec![(0, false); self.nodes.len()];
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            let parent = node.parent.index();
            if let (Some((total, is_estimated)), Some(list)) = (totals.get_mut(parent), children.get_mut(parent)) {
                *total = total.saturating_add(node.total);
                *is_estimated |= node.estimated_calls > 0;
                list.push(NodeId(index as u32));
            }
        }
        for ((node, (below, is_estimated)), list) in self.nodes.iter_mut().zip(totals).zip(children) {
            node.own = node.total.saturating_sub(below);
            node.own_is_estimated |= node.frame.is_some() && (is_estimated || node.estimated_calls > 0);
            node.children = list;
        }
        self.sort_children();
    }

    fn sort_children(&mut self) {
        let totals: Vec<u64> = self.nodes.iter().map(|node| node.total).collect();
        for node in &mut self.nodes {
            node.children.sort_by_key(|id| (std::cmp::Reverse(totals.get(id.index()).copied()), *id));
        }
    }

    /// Subtracts nanoseconds, by position of the node, from own times, and what was subtracted from the totals around them. No time becomes
    /// less than 0. Returns what was subtracted from own time and total of each node.
    pub(super) fn subtract(&mut self, nanos: &[u64]) -> Vec<Subtracted> {
        let mut subtracted = vec![Subtracted::default(); self.nodes.len()];
        // Children follow their parents.
        for (index, node) in self.nodes.iter_mut().enumerate().rev() {
            let Some(of_node) = subtracted.get_mut(index) else { continue };
            of_node.own = node.own.min(nanos.get(index).copied().unwrap_or(0));
            of_node.total = node.total.min(of_node.total.saturating_add(of_node.own));
            node.own -= of_node.own;
            node.total -= of_node.total;
            node.probes = of_node.total;
            let total = of_node.total;
            if let Some(of_parent) = subtracted.get_mut(node.parent.index()).filter(|_| index > 0) {
                of_parent.total = of_parent.total.saturating_add(total);
            }
        }
        self.sort_children();
        subtracted
    }
}
