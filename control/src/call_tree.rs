//! The call tree of a running program.

use serde::{Deserialize, Serialize};

/// The answer to a request for the call tree. Times are nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTree {
    /// Each caller is before its callees.
    pub nodes: Vec<TreeNode>,
    /// Calls without a node: too deep, too many, or with too little time.
    pub left_out: u64,
    /// Groups of calls that may be too far out in the tree.
    pub misplaced: u64,
}

/// All calls of a method by one path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNode {
    /// Position of the caller; `None` for an outermost call.
    pub parent: Option<usize>,
    /// `package.Class.method`.
    pub method: String,
    /// Calls by this path.
    pub calls: u64,
    /// Time of these calls.
    pub total: u64,
    /// The part of it that was not spent in recorded callees.
    pub own: u64,
}
