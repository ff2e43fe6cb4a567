//! The call tree of a running program.

use crate::message::messages;

messages! {
    /// The answer to a request for the call tree. Times are nanoseconds.
    #[derive(Eq)]
    pub struct CallTree {
        /// Each caller is before its callees.
        pub nodes: Vec<TreeNode>,
        /// Calls without a node: too deep, too many, or with too little time.
        pub left_out: u64,
        /// Groups of calls that may be too far out in the tree.
        pub misplaced: u64,
    }

    /// All calls of a method by one path.
    #[derive(Eq)]
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

    /// Some of the nodes, in a line of an answer that is streamed.
    #[derive(Eq)]
    pub struct CallTreePart {
        /// Nodes that follow those of the parts before.
        pub part: Vec<TreeNode>,
    }

    /// The last line of an answer that is streamed.
    #[derive(Eq)]
    pub struct CallTreeDone {
        /// True: this is the last line.
        pub done: bool,
        /// As in a call tree.
        pub left_out: u64,
        /// As in a call tree.
        pub misplaced: u64,
    }
}
