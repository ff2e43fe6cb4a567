//! Callers and callees of a method.

use rustc_hash::FxHashMap;

use super::{Analysis, FrameId, Node};

/// Calls between a method and one of its callers or callees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relation {
    /// The other method; `None` = called by nothing that is measured.
    pub frame: Option<FrameId>,
    /// Number of calls, recursive ones included.
    pub calls: u64,
    /// Time of these calls, in nanoseconds. A call inside another call of the same caller and callee counts once, so this is
    /// never more than the total time of either method.
    pub total: u64,
}

impl Analysis {
    /// Who called a method, the one with the most time first.
    #[must_use]
    pub fn callers(&self, frame: FrameId) -> Vec<Relation> {
        let calls = self.tree.nodes().iter().filter(|node| node.frame == Some(frame));
        self.merged(calls.map(|node| (self.caller(node), node)))
    }

    /// What a method called, the one with the most time first.
    #[must_use]
    pub fn callees(&self, frame: FrameId) -> Vec<Relation> {
        let callers = self.tree.nodes().iter().filter(|node| node.frame == Some(frame));
        let calls = callers.flat_map(|node| node.children.iter().filter_map(|child| self.tree.node(*child)));
        self.merged(calls.map(|node| (node.frame, node)))
    }

    fn merged<'a>(&self, calls: impl Iterator<Item = (Option<FrameId>, &'a Node)>) -> Vec<Relation> {
        let mut relations: FxHashMap<Option<FrameId>, Relation> = FxHashMap::default();
        for (frame, node) in calls {
            let relation = relations.entry(frame).or_insert(Relation { frame, calls: 0, total: 0 });
            relation.calls += node.calls;
            if !self.repeats_a_call_around_it(node) {
                relation.total = relation.total.saturating_add(node.total);
            }
        }
        let mut relations: Vec<_> = relations.into_values().collect();
        relations.sort_by_key(|relation| (std::cmp::Reverse(relation.total), relation.frame));
        relations
    }

    fn caller(&self, node: &Node) -> Option<FrameId> {
        self.tree.node(node.parent).and_then(|parent| parent.frame)
    }

    /// Whether a call with the same caller and the same callee is around the calls of `node`.
    fn repeats_a_call_around_it(&self, node: &Node) -> bool {
        if node.is_outermost {
            return false;
        }
        let caller = self.caller(node);
        let above = |node: &&Node| self.tree.node(node.parent).filter(|parent| parent.frame.is_some());
        let mut around = std::iter::successors(above(&node), above);
        around.any(|outer| outer.frame == node.frame && self.caller(outer) == caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{CallTree, NodeId};

    /// `a` calls itself twice; each call of it calls `b`, and the innermost `b` calls `a` again.
    #[test]
    fn the_time_of_a_recursive_call_counts_once_at_its_outermost_place() {
        let [a, b] = [FrameId(0), FrameId(1)];
        let mut tree = CallTree::default();
        let outer = tree.add(NodeId::ROOT, a, 3_000, true).0;
        let middle = tree.add(outer, a, 2_500, true).0;
        let inner = tree.add(middle, a, 2_000, true).0;
        tree.add(outer, b, 100, true);
        let called = tree.add(inner, b, 1_500, true).0;
        let again = tree.add(called, a, 1_400, true).0;
        tree.add(again, b, 1_300, true);
        tree.complete();
        let analysis = Analysis { tree, ..Analysis::default() };
        let rows = |relations: Vec<Relation>| -> Vec<_> {
            relations.into_iter().map(|relation| (relation.frame, relation.calls, relation.total)).collect()
        };
        assert_eq!(rows(analysis.callees(a)), [(Some(a), 2, 2_500), (Some(b), 3, 1_600)]);
        assert_eq!(rows(analysis.callers(a)), [(None, 1, 3_000), (Some(a), 2, 2_500), (Some(b), 1, 1_400)]);
        assert_eq!(rows(analysis.callers(b)), [(Some(a), 3, 1_600)]);
    }
}
