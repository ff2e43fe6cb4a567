//! Transactions as JSON, for programs.

use serde::Serialize;

use crate::analysis::{TransactionNode, Transactions};

/// The transactions as JSON. Times are nanoseconds; in `nodes` parents precede their children, and node 0 is the root.
#[must_use]
pub fn transactions_json(found: &Transactions) -> String {
    let page = Page {
        joined: found.joined,
        ambiguous: found.ambiguous,
        nodes: found.nodes.iter().map(|node| NodeData::of(found, node)).collect(),
        warnings: &found.warnings,
    };
    // Numbers and text only: nothing that could fail to be written as JSON.
    serde_json::to_string(&page).unwrap_or_default()
}

#[derive(Serialize)]
struct Page<'a> {
    joined: u64,
    ambiguous: u64,
    nodes: Vec<NodeData>,
    warnings: &'a [String],
}

#[derive(Serialize)]
struct NodeData {
    parent: usize,
    /// `com.acme.Order.total`; empty for the root.
    method: String,
    /// Ran in a task that the call above handed over.
    elsewhere: bool,
    calls: u64,
    total: u64,
    /// `total` is an estimate of level watch.
    estimated: bool,
    own: u64,
    own_estimated: bool,
    beside: u64,
}

impl NodeData {
    fn of(found: &Transactions, node: &TransactionNode) -> NodeData {
        let method = found.frame(node).map(|frame| frame.distinct_name()).unwrap_or_default();
        let TransactionNode { parent, is_elsewhere: elsewhere, calls, total, own, beside, .. } = *node;
        let (estimated, own_estimated) = (node.is_estimated, node.own_is_estimated);
        NodeData { parent, method, elsewhere, calls, total, estimated, own, own_estimated, beside }
    }
}
