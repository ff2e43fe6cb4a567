//! The call tree: one node for each distinct path of methods, merged over all calls and threads.

use rustc_hash::FxHashMap;

use super::FrameId;

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
    /// Time in the method and all that it called, in nanoseconds.
    pub total: u64,
    /// Time in the method itself: `total` without the children's. An estimate may leave less than nothing; then it is 0.
    pub own: u64,
    /// The methods called, the one with the largest total first.
    pub children: Vec<NodeId>,
    /// No node above is of the same method.
    pub is_outermost: bool,
}

/// The call tree of a trace.
#[derive(Debug, Clone)]
pub struct CallTree {
    nodes: Vec<Node>,
    children: FxHashMap<(NodeId, FrameId), NodeId>,
}

impl Default for CallTree {
    fn default() -> Self {
        let root = Node {
            frame: None,
            parent: NodeId::ROOT,
            calls: 0,
            estimated_calls: 0,
            total: 0,
            own: 0,
            children: Vec::new(),
            is_outermost: true,
        };
        CallTree { nodes: vec![root], children: FxHashMap::default() }
    }
}

impl CallTree {
    /// All nodes; parents stand before their children.
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

    /// Adds a call of `frame` by the path `parent`: the node, and whether no call around it is of the same method.
    pub(super) fn add(&mut self, parent: NodeId, frame: FrameId, duration: u64, exact: bool) -> (NodeId, bool) {
        self.add_many(parent, frame, (1, u64::from(!exact)), duration)
    }

    /// Adds ticks of the sampler at which `frame` was running or waiting for what it had called.
    pub(super) fn add_ticks(&mut self, parent: NodeId, frame: FrameId, ticks: u64) -> (NodeId, bool) {
        self.add_many(parent, frame, (ticks, 0), ticks)
    }

    fn add_many(
        &mut self,
        parent: NodeId,
        frame: FrameId,
        (calls, estimated_calls): (u64, u64),
        total: u64,
    ) -> (NodeId, bool) {
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

    fn child(&mut self, parent: NodeId, frame: FrameId) -> NodeId {
        if let Some(known) = self.children.get(&(parent, frame)) {
            return *known;
        }
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(Node {
            frame: Some(frame),
            parent,
            calls: 0,
            estimated_calls: 0,
            total: 0,
            own: 0,
            children: Vec::new(),
            is_outermost: !self.path_has(parent, frame),
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
        let mut totals: Vec<u64> = vec![0; self.nodes.len()];
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            let parent = node.parent.index();
            if let (Some(total), Some(list)) = (totals.get_mut(parent), children.get_mut(parent)) {
                *total = total.saturating_add(node.total);
                list.push(NodeId(index as u32));
            }
        }
        for list in &mut children {
            list.sort_by_key(|id| (std::cmp::Reverse(self.node(*id).map_or(0, |node| node.total)), *id));
        }
        for ((node, below), list) in self.nodes.iter_mut().zip(totals).zip(children) {
            node.own = node.total.saturating_sub(below);
            node.children = list;
        }
    }
}
