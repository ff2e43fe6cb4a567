//! The tables of the agent, one file each; those of claims and contexts have a folder of their own.

pub(crate) mod agent_table;
pub(crate) mod allocation;
pub(crate) mod control_table;
pub(crate) mod governor_table;
pub(crate) mod metrics_table;
pub(crate) mod monitor_tables;
pub(crate) mod sampler;
pub(crate) mod trace_table;
pub(crate) mod walk_table;
pub(crate) mod watch_table;
