//! The call tree as people are told who ask while the program runs.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::recorder::{TreeNode, TreeSnapshot};
use crate::session::Session;

/// So many nodes are told, those with the most time.
const MOST_TOLD: usize = 10_000;

/// The answer to a request for the call tree. Times are nanoseconds.
#[derive(Debug, Serialize)]
pub(crate) struct CallTree {
    /// Nodes; parents stand before their children.
    nodes: Vec<ToldNode>,
    /// Calls without a node: too deep, too many, or with too little time to be told.
    left_out: u64,
    /// Groups of calls that may stand too far out.
    misplaced: u64,
}

/// All calls of a method by one path.
#[derive(Debug, Serialize)]
struct ToldNode {
    /// Position of the caller; none of an outermost call.
    parent: Option<usize>,
    method: String,
    calls: u64,
    total: u64,
    own: u64,
}

impl CallTree {
    /// The tree of a session.
    ///
    /// # Errors
    /// If none is kept.
    pub(crate) fn of(session: &Session) -> Result<CallTree, String> {
        let tree = session.tree.as_ref().ok_or("no call tree is kept; write `call-tree = true` into [control]")?;
        let snapshot = tree.lock().snapshot();
        let name = |probe| session.probes.describe(probe).map_or_else(|| "?".to_owned(), |known| known.method);
        Ok(CallTree::told(snapshot, &name))
    }

    /// The nodes with the most time; methods that have several probes are one.
    fn told(snapshot: TreeSnapshot, name: &dyn Fn(u32) -> String) -> CallTree {
        let TreeSnapshot { roots, mut left_out, misplaced } = snapshot;
        let smallest = smallest_told(&roots);
        let mut nodes = Vec::new();
        let mut waiting: Vec<(Option<usize>, Vec<TreeNode>)> = vec![(None, roots)];
        while let Some((parent, siblings)) = waiting.pop() {
            let mut by_name: BTreeMap<String, (u64, u64, Vec<TreeNode>)> = BTreeMap::new();
            for node in siblings {
                if node.total < smallest {
                    left_out += node.all_calls();
                    continue;
                }
                let (calls, total, children) = by_name.entry(name(node.probe)).or_default();
                *calls += node.calls;
                *total = total.saturating_add(node.total);
                children.extend(node.children);
            }
            for (method, (calls, total, children)) in by_name {
                let below = children.iter().fold(0_u64, |sum, child| sum.saturating_add(child.total));
                waiting.push((Some(nodes.len()), children));
                nodes.push(ToldNode { parent, method, calls, total, own: total.saturating_sub(below) });
            }
        }
        CallTree { nodes, left_out, misplaced }
    }
}

/// The time of the last node that is told. A caller has at least the time of what it calls.
fn smallest_told(roots: &[TreeNode]) -> u64 {
    let mut totals = Vec::new();
    let mut waiting: Vec<&TreeNode> = roots.iter().collect();
    while let Some(node) = waiting.pop() {
        totals.push(node.total);
        waiting.extend(&node.children);
    }
    totals.sort_unstable_by(|a, b| b.cmp(a));
    totals.get(MOST_TOLD).map_or(0, |total| total + 1)
}
