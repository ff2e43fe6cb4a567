//! What the agent is started with: the configuration file as read, and what is compiled into the library.

pub(crate) mod embedded;
pub(crate) mod setup;
