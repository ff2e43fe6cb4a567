//! Callers and callees of a method.

use rustc_hash::FxHashMap;

use super::{Analysis, FrameId, Node};

/// Calls between a method and one of its callers or callees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation {
    /// The other method; `None` = called by nothing that is measured.
    pub frame: Option<FrameId>,
    /// Number of calls.
    pub calls: u64,
    /// Time of these calls, in nanoseconds.
    pub total: u64,
}

impl Analysis {
    /// Who called a method, the one with the most time first.
    #[must_use]
    pub fn callers(&self, frame: FrameId) -> Vec<Relation> {
        let calls = self.tree.nodes().iter().filter(|node| node.frame == Some(frame));
        merged(calls.map(|node| (self.tree.node(node.parent).and_then(|parent| parent.frame), node)))
    }

    /// What a method called, the one with the most time first.
    #[must_use]
    pub fn callees(&self, frame: FrameId) -> Vec<Relation> {
        let callers = self.tree.nodes().iter().filter(|node| node.frame == Some(frame));
        let calls = callers.flat_map(|node| node.children.iter().filter_map(|child| self.tree.node(*child)));
        merged(calls.map(|node| (node.frame, node)))
    }
}

fn merged<'a>(calls: impl Iterator<Item = (Option<FrameId>, &'a Node)>) -> Vec<Relation> {
    let mut relations: FxHashMap<Option<FrameId>, Relation> = FxHashMap::default();
    for (frame, node) in calls {
        let relation = relations.entry(frame).or_insert(Relation { frame, calls: 0, total: 0 });
        relation.calls += node.calls;
        relation.total = relation.total.saturating_add(node.total);
    }
    let mut relations: Vec<_> = relations.into_values().collect();
    relations.sort_by_key(|relation| (std::cmp::Reverse(relation.total), relation.frame));
    relations
}
