//! The call tree up to now, for clients that ask while the program runs.

use std::collections::BTreeMap;

use control::CallTree;
use records::ProbeRegistry;
use records::probe_registry::ProbeDescription;

use crate::recorder::{TreeNode, TreeSnapshot};

/// Nodes of an answer, those with the most time.
const MOST_NODES: usize = 10_000;

/// Returns the nodes of a tree under the names of their methods.
pub(crate) fn of(tree: TreeSnapshot, probes: &ProbeRegistry) -> CallTree {
    largest_nodes(tree, &|probe| probes.describe(probe).map_or_else(|| "?".to_owned(), named))
}

/// Returns the nodes with the most time; methods that have several probes are one.
fn largest_nodes(snapshot: TreeSnapshot, name: &dyn Fn(u32) -> String) -> CallTree {
    let TreeSnapshot { roots, mut left_out, misplaced } = snapshot;
    let smallest = smallest_shown(&roots);
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
            nodes.push(control::TreeNode { parent, method, calls, total, own: total.saturating_sub(below) });
        }
    }
    CallTree { nodes, left_out, misplaced }
}

/// Returns the time of the last node of the answer. A caller has at least the time of what it calls.
fn smallest_shown(roots: &[TreeNode]) -> u64 {
    let mut totals = Vec::new();
    let mut waiting: Vec<&TreeNode> = roots.iter().collect();
    while let Some(node) = waiting.pop() {
        totals.push(node.total);
        waiting.extend(&node.children);
    }
    totals.sort_unstable_by(|a, b| b.cmp(a));
    totals.get(MOST_NODES).map_or(0, |total| total + 1)
}

/// Returns the method, with the context inside which it is recorded only: that is another node than all calls.
fn named(probe: ProbeDescription) -> String {
    if probe.context.is_empty() { probe.method } else { format!("{}{}{}", probe.method, trace::INSIDE, probe.context) }
}
