//! What an agent can do.

use crate::message::messages;

/// The version of the protocol that this crate describes. Fields and verbs may be added to a version, nothing is taken away or changed.
pub const PROTOCOL: u32 = 1;

messages! {
    /// What an agent can do. Agents before version 1 of the protocol refuse the request.
    #[derive(Eq)]
    pub struct Hello {
        /// Version of the agent.
        pub agent_version: String,
        /// Versions of the protocol that it speaks.
        pub protocol: Vec<u32>,
        /// The requests that it answers.
        pub abilities: Vec<String>,
        /// Process id of the JVM, as it is inside its own container.
        pub pid: u32,
        /// Length of the longest request in bytes.
        pub longest_request: usize,
    }
}
