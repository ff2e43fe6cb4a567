//! Messages for people and log lines.

pub(crate) mod logging;
pub(crate) mod message;
