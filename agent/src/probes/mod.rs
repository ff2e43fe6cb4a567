//! Probes of the running session: the Java runtime they use, who switches them and changes their levels.

pub(crate) mod hottest;
pub(crate) mod live_control;
pub(crate) mod probe_switch;
pub(crate) mod runtime_classes;
